package execution

import (
	"cmp"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

// WatchExecution calls each with every event of the execution after seq, in order, until the ended event. Any number
// may watch, at any time while the result is kept. An execution goes on when its watchers leave.
//
// Once the node has forgotten the execution the events come from the stored result, with the same numbers. An event of
// type [yurt.EventGap] stands in place of output that is not kept any more.
func (r *Runner) WatchExecution(ctx context.Context, sessionID, id string, after uint64, each func(yurt.Event) error) error {
	session, err := r.reach.Session(ctx, sessionID)
	if err != nil {
		return err
	}
	record, err := r.Execution(ctx, sessionID, id)
	if err != nil {
		return err
	}
	w := &watcher{last: after, whole: after == 0, each: each}
	if run := r.tracker.find(sessionID, record.ID); run != nil {
		run.watch(+1)
		defer run.watch(-1)
	}
	for {
		watchErr := r.watchNode(ctx, session, record.ID, w)
		switch {
		case w.ended:
			return nil
		case w.failed != nil || ctx.Err() != nil:
			return cmp.Or(w.failed, ctx.Err())
		case watchErr != nil:
			r.life.Log.Debug("watching an execution at its node", "session", sessionID, "execution", record.ID, "error", watchErr)
		}
		ended, again, err := r.endWithin(ctx, sessionID, record.ID, unanswered(watchErr))
		if err != nil {
			return err
		}
		if !again {
			return w.replay(ctx, ended.Result)
		}
		if session, err = r.reach.Session(ctx, sessionID); err != nil { // it may be elsewhere meanwhile
			return err
		}
	}
}

// endWithin waits for the end of an execution: if its node did not answer, only until that
// is to be tried again.
func (r *Runner) endWithin(ctx context.Context, sessionID, id string, away bool) (ended yurt.Execution, again bool, _ error) {
	limited := ctx
	if away {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, nodeRetry)
		defer cancel()
	}
	ended, err := r.WaitExecution(limited, sessionID, id)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return ended, true, nil
	}
	return ended, false, err
}

// watchNode hands on the events that the node still has.
func (r *Runner) watchNode(ctx context.Context, session yurt.Session, id string, w *watcher) error {
	if session.Placement.Node == "" {
		return nil
	}
	node, err := r.reach.Node(ctx, session)
	if err != nil {
		return err
	}
	return node.WatchExecution(ctx, session.SandboxID, id, w.last, func(e yurt.Event) error {
		if e.Type == yurt.EventEnded {
			// A watcher may ask for the result as soon as it hears of the end: the result is stored first.
			ended, err := r.WaitExecution(ctx, session.ID, id)
			if err != nil {
				return err
			}
			e.Result = cmp.Or(ended.Result, e.Result)
		}
		return w.deliver(e)
	})
}

// watcher is where one watcher is in the events of an execution.
type watcher struct {
	each   func(yurt.Event) error
	last   uint64 // sequence number of the last event delivered
	whole  bool   // it watches from the start, so that sent counts everything
	sent   struct{ stdout, stderr int64 }
	ended  bool
	failed error // the error that each returned
}

func (w *watcher) deliver(e yurt.Event) error {
	if e.Seq <= w.last && e.Type != yurt.EventEnded {
		return nil
	}
	if w.failed = w.each(e); w.failed != nil {
		return w.failed
	}
	w.last = e.Seq
	switch e.Type {
	case yurt.EventStdout:
		w.sent.stdout += int64(len(e.Data))
	case yurt.EventStderr:
		w.sent.stderr += int64(len(e.Data))
	case yurt.EventEnded:
		w.ended = true
	}
	return nil
}

// replay delivers the events that the watcher has not had yet, from the stored result.
func (w *watcher) replay(ctx context.Context, result *yurt.Result) error {
	if result == nil {
		return errors.New("replaying an execution: it ended without a result")
	}
	if result.Outline != nil {
		return result.Replay(ctx, w.last, w.deliver)
	}
	return w.replayUnnumbered(ctx, result)
}

// replayUnnumbered is replay for a result of which it is not known which events there were: one of an
// older version, or of a node that was lost. A watcher from the start has the output once.
func (w *watcher) replayUnnumbered(ctx context.Context, result *yurt.Result) error {
	if w.last == 0 {
		if err := w.append(yurt.Event{Type: yurt.EventStarted, At: result.StartedAt}); err != nil {
			return err
		}
	}
	if w.whole {
		sent := w.sent
		err := w.replayRest(ctx, result, yurt.EventStdout, sent.stdout)
		if err == nil {
			err = w.replayRest(ctx, result, yurt.EventStderr, sent.stderr)
		}
		if err != nil {
			return err
		}
	} else if err := w.append(yurt.Event{Type: yurt.EventGap, At: result.EndedAt, Gap: &yurt.Gap{From: w.last + 1}}); err != nil {
		return err
	}
	return w.append(yurt.Event{Type: yurt.EventEnded, At: result.EndedAt, Result: result})
}

// append delivers an event after the last one.
func (w *watcher) append(e yurt.Event) error {
	e.Seq = w.last + 1
	return w.deliver(e)
}

// replayPiece is how many bytes of output an event has that is made of a result.
const replayPiece = 256 << 10

// replayRest delivers the output of a stream from an offset on.
func (w *watcher) replayRest(ctx context.Context, result *yurt.Result, stream yurt.EventType, from int64) error {
	source, err := result.OpenOutput(ctx, stream, from)
	if err != nil {
		return err
	}
	defer source.Close()
	var rest []byte // a character that was cut
	for {
		piece := make([]byte, len(rest)+replayPiece)
		n, err := io.ReadFull(source, piece[copy(piece, rest):])
		text := wholeRunes(piece[:len(rest)+n])
		rest = piece[len(text) : len(rest)+n]
		if len(text) > 0 {
			if err := w.append(yurt.Event{Type: stream, At: result.EndedAt, Data: text}); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF): //nolint:errorlint // the value itself is the end
			return nil
		case err != nil:
			return err
		}
	}
}

// wholeRunes returns text without the character that it ends in the middle of.
func wholeRunes(text []byte) []byte {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}
