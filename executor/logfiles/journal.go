package logfiles

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// place is where the next byte of a stream goes.
type place struct {
	index  int64 // of the file
	offset int64 // in it
}

// entry is the content of the journal: the last chunk that was begun.
type entry struct {
	seq           uint64 // 0 before the first
	before, after [streams]place
	others        uint64 // chunks before it that were not written here
}

const (
	journalMagic = "yurtlog1"
	journalSize  = len(journalMagic) + 8 + 8 + 2*streams*16 + 4
)

func (e entry) encode() []byte {
	buf := make([]byte, 0, journalSize)
	buf = append(buf, journalMagic...)
	buf = binary.BigEndian.AppendUint64(buf, e.seq)
	buf = binary.BigEndian.AppendUint64(buf, e.others)
	for _, places := range [][streams]place{e.before, e.after} {
		for _, p := range places {
			buf = binary.BigEndian.AppendUint64(buf, uint64(p.index))
			buf = binary.BigEndian.AppendUint64(buf, uint64(p.offset))
		}
	}
	return binary.BigEndian.AppendUint32(buf, crc32.ChecksumIEEE(buf))
}

var errNoJournal = errors.New("it is no journal of log files")

func decodeEntry(buf []byte) (e entry, err error) {
	if len(buf) != journalSize || string(buf[:len(journalMagic)]) != journalMagic ||
		crc32.ChecksumIEEE(buf[:journalSize-4]) != binary.BigEndian.Uint32(buf[journalSize-4:]) {
		return entry{}, errNoJournal
	}
	buf = buf[len(journalMagic):]
	next := func() uint64 {
		value := binary.BigEndian.Uint64(buf)
		buf = buf[8:]
		return value
	}
	e.seq, e.others = next(), next()
	for _, places := range []*[streams]place{&e.before, &e.after} {
		for i := range places {
			places[i] = place{int64(next()), int64(next())}
		}
	}
	for _, places := range [][streams]place{e.before, e.after} {
		for _, p := range places {
			if p.index < 0 || p.index > maxIndex || p.offset < 0 {
				return entry{}, errNoJournal
			}
		}
	}
	return e, nil
}

// readJournal returns the entry in the file; an empty file is the entry before the first.
func readJournal(file *os.File) (e entry, fresh bool, err error) {
	buf := make([]byte, journalSize)
	n, err := file.ReadAt(buf, 0)
	if n == 0 && errors.Is(err, io.EOF) {
		return entry{}, true, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return entry{}, false, fmt.Errorf("reading the journal of log files: %w", err)
	}
	e, err = decodeEntry(buf[:n])
	return e, false, err
}
