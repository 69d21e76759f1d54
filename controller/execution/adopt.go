package execution

import (
	"context"

	"github.com/yurtrun/yurt"
)

// follows reports whether this controller follows the execution, or another one that
// lives.
func (t *Tracker) follows(record yurt.Execution) bool {
	return t.find(record.SessionID, record.ID) != nil || record.Owner != t.life.ID && t.life.Members.Lives(record.Owner)
}

// EndOrphans ends executions without a follower whose session has ended: a crash can leave them between the two steps.
func (t *Tracker) EndOrphans(ctx context.Context, unfinished []yurt.Execution) error {
	for _, record := range unfinished {
		if t.follows(record) {
			continue
		}
		session, err := t.store.Session(ctx, record.SessionID)
		if err != nil {
			return err
		}
		if !session.State.Ended() {
			continue
		}
		cause := causeOf(session)
		result := failedResult(cause.errorType, cause.reason, record.CreatedAt, t.life.Now())
		if _, _, err := t.store.EndExecution(ctx, record.ID, result, keepEnded); err != nil {
			return err
		}
	}
	return nil
}

// keepEnded is the step that an ended session takes when an execution in it ends.
func keepEnded(*yurt.Session, int) ([]yurt.Transition, error) { return nil, nil }

// Adopt follows the unfinished executions of a session that have no follower.
func (t *Tracker) Adopt(ctx context.Context, session yurt.Session, unfinished []yurt.Execution) error {
	if len(unfinished) == 0 {
		return nil
	}
	node, err := t.placer.Node(ctx, session.Placement.Node)
	if err != nil {
		return err
	}
	for _, record := range unfinished {
		// One that begins just now is registered before it is stored.
		if t.follows(record) {
			continue
		}
		if mine, err := t.store.OwnExecution(ctx, record.ID, record.Owner, t.life.ID); err != nil || !mine {
			return err
		}
		record.Owner = t.life.ID
		run := t.register(session, node, record, yurt.DefaultOutputLimit)
		t.life.Log.Info("following an execution again", "session", session.ID, "execution", record.ID)
		t.life.Background(func(context.Context) { t.follow(run) })
	}
	return nil
}

// Trim drops what old results have beyond a quota, of a session or of all.
func (t *Tracker) Trim(ctx context.Context, sessionID string, most yurt.Size) {
	trimmed, err := t.store.TrimResults(ctx, sessionID, int64(most))
	if err != nil {
		t.life.Log.Error("bounding results", "session", sessionID, "error", err)
	} else if trimmed > 0 {
		t.life.Log.Info("dropped the output of old results", "session", sessionID, "count", trimmed)
	}
}

// Busy reports whether this controller follows executions in the session.
func (t *Tracker) Busy(sessionID string) bool { return len(t.of(sessionID)) > 0 }
