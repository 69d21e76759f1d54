package controller

import (
	"cmp"
	"context"
	"errors"

	"github.com/yurtrun/yurt"
)

// WatchExecution calls each with every event of the execution after seq, in order, until the ended event. Any number
// may watch, at any time while the result is kept. An execution goes on when its watchers leave.
//
// Once the node has forgotten the execution the events come from the stored result, with the same numbers. An event of
// type [yurt.EventGap] stands in place of output that is not kept any more.
func (c *Controller) WatchExecution(ctx context.Context, sessionID, id string, after uint64, each func(yurt.Event) error) error {
	session, err := c.Session(ctx, sessionID)
	if err != nil {
		return err
	}
	record, err := c.Execution(ctx, sessionID, id)
	if err != nil {
		return err
	}
	w := &watcher{last: after, whole: after == 0, each: each}
	if live := c.liveExecution(sessionID, record.ID); live != nil {
		live.watch(+1)
		defer live.watch(-1)
	}
	for {
		watchErr := c.watchNode(ctx, session, record.ID, w)
		switch {
		case w.ended:
			return nil
		case w.failed != nil || ctx.Err() != nil:
			return cmp.Or(w.failed, ctx.Err())
		case watchErr != nil:
			c.log.Debug("watching an execution at its node", "session", sessionID, "execution", record.ID, "error", watchErr)
		}
		ended, again, err := c.endWithin(ctx, sessionID, record.ID, unanswered(watchErr))
		if err != nil {
			return err
		}
		if !again {
			return w.replay(ended.Result)
		}
		if session, err = c.Session(ctx, sessionID); err != nil { // it may be elsewhere meanwhile
			return err
		}
	}
}

// endWithin waits for the end of an execution: if its node did not answer, only until that
// is to be tried again.
func (c *Controller) endWithin(ctx context.Context, sessionID, id string, away bool) (ended yurt.Execution, again bool, _ error) {
	limited := ctx
	if away {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, nodeRetry)
		defer cancel()
	}
	ended, err := c.WaitExecution(limited, sessionID, id)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return ended, true, nil
	}
	return ended, false, err
}

// watchNode hands on the events that the node still has.
func (c *Controller) watchNode(ctx context.Context, session yurt.Session, id string, w *watcher) error {
	if session.Placement.Node == "" {
		return nil
	}
	node, err := c.reach(ctx, session)
	if err != nil {
		return err
	}
	return node.WatchExecution(ctx, session.SandboxID, id, w.last, func(e yurt.Event) error {
		if e.Type == yurt.EventEnded {
			// A watcher may ask for the result as soon as it hears of the end: the result is stored first.
			ended, err := c.WaitExecution(ctx, session.ID, id)
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
	sent   struct{ stdout, stderr int }
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
		w.sent.stdout += len(e.Data)
	case yurt.EventStderr:
		w.sent.stderr += len(e.Data)
	case yurt.EventEnded:
		w.ended = true
	}
	return nil
}

// replay delivers the events that the watcher has not had yet, from the stored result.
func (w *watcher) replay(result *yurt.Result) error {
	if result == nil {
		return errors.New("replaying an execution: it ended without a result")
	}
	if result.Outline != nil {
		return result.Replay(w.last, w.deliver)
	}
	return w.replayUnnumbered(result)
}

// replayUnnumbered is replay for a result of which it is not known which events there were: one of an
// older version, or of a node that was lost. A watcher from the start has the output once.
func (w *watcher) replayUnnumbered(result *yurt.Result) error {
	var events []yurt.Event
	if w.last == 0 {
		events = append(events, yurt.Event{Type: yurt.EventStarted, At: result.StartedAt})
	}
	if w.whole {
		if rest := result.Stdout[min(w.sent.stdout, len(result.Stdout)):]; rest != "" {
			events = append(events, yurt.Event{Type: yurt.EventStdout, At: result.EndedAt, Data: []byte(rest)})
		}
		if rest := result.Stderr[min(w.sent.stderr, len(result.Stderr)):]; rest != "" {
			events = append(events, yurt.Event{Type: yurt.EventStderr, At: result.EndedAt, Data: []byte(rest)})
		}
	} else {
		events = append(events, yurt.Event{Type: yurt.EventGap, At: result.EndedAt, Gap: &yurt.Gap{From: w.last + 1}})
	}
	events = append(events, yurt.Event{Type: yurt.EventEnded, At: result.EndedAt, Result: result})
	for _, e := range events {
		e.Seq = w.last + 1
		if err := w.deliver(e); err != nil {
			return err
		}
	}
	return nil
}
