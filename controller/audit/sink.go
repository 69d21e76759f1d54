package audit

// sink is a place beside the store to which entries are added.
type sink interface {
	// add adds entries in their order, and returns how many of them are added for good. The next try begins after those.
	add(entries []Entry) (added int, err error)
	close()
}

// openSinks opens the places that the configuration names.
func openSinks(config Config) (sinks []sink, err error) {
	if config.File != "" {
		f, err := openFile(config.File)
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, f)
	}
	if config.Syslog != "" {
		s, err := openSyslog(config.Syslog)
		if err != nil {
			closeAll(sinks)
			return nil, err
		}
		sinks = append(sinks, s)
	}
	return sinks, nil
}

func closeAll(sinks []sink) {
	for _, s := range sinks {
		s.close()
	}
}

// remainder is the part of a batch that a sink does not have yet.
type remainder struct {
	sink    sink
	entries []Entry
}

func (r *remainder) add() error {
	if len(r.entries) == 0 {
		return nil
	}
	added, err := r.sink.add(r.entries)
	r.entries = r.entries[added:]
	return err
}
