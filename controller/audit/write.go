package audit

import (
	"context"
	"errors"
	"time"
)

// Run writes the entries until ctx ends, and then those that still wait.
func (l *Log) Run(ctx context.Context) error {
	defer closeAll(l.sinks)
	write, sum, purge := time.NewTicker(writePause), time.NewTicker(time.Second), time.NewTicker(purgePeriod)
	defer write.Stop()
	defer sum.Stop()
	defer purge.Stop()
	for {
		select {
		case <-ctx.Done():
			l.drain(ctx)
			return nil
		case <-write.C:
			l.writeAll(ctx)
		case done := <-l.asked:
			l.writeAll(ctx)
			close(done)
		case <-sum.C:
			l.flushSums()
		case <-purge.C:
			l.purge(ctx)
		}
	}
}

// drain writes all that waits when the server stops.
func (l *Log) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
	defer cancel()
	l.flushSums()
	l.writeAll(ctx)
	if left := len(l.queue); left > 0 {
		l.log.Error("entries of the audit log were not written", "entries", left)
	}
}

// writeAll writes the entries that wait now, a batch after the other.
func (l *Log) writeAll(ctx context.Context) {
	for left := len(l.queue); left > 0 && ctx.Err() == nil; left = len(l.queue) {
		batch := make([]Entry, 0, min(left, writeBatch))
		for range cap(batch) {
			batch = append(batch, <-l.queue)
		}
		l.write(ctx, batch)
	}
}

// write writes a batch to the sinks and then to the store, again and again until all have it or ctx ends.
func (l *Log) write(ctx context.Context, batch []Entry) {
	left := make([]remainder, len(l.sinks))
	for i, s := range l.sinks {
		left[i] = remainder{sink: s, entries: batch}
	}
	for {
		var err error
		for i := range left {
			err = errors.Join(err, left[i].add())
		}
		if err == nil {
			err = l.add(ctx, batch)
		}
		if err == nil || ctx.Err() != nil {
			break
		}
		l.log.Error("the audit log could not be written; changes are refused once its queue is full", "error", err, "waiting", len(l.room))
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
	for range batch {
		<-l.room
	}
}

func (l *Log) add(ctx context.Context, batch []Entry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
	defer cancel()
	return l.store.AddEntries(ctx, batch)
}

// purge removes entries that were kept for long enough, in small steps.
func (l *Log) purge(ctx context.Context) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, writeLimit)
		removed, err := l.store.PurgeEntries(limited, time.Now().Add(-l.retention), purgeBatch)
		cancel()
		if err != nil {
			l.log.Warn("old entries of the audit log could not be removed", "error", err)
		}
		if err != nil || removed < purgeBatch {
			return
		}
	}
}
