package execution

import (
	"context"
	"sync"

	"github.com/yurtrun/yurt"
)

// Trim drops the oldest results beyond a quota, of a session or of all.
func (t *Tracker) Trim(ctx context.Context, sessionID string, most yurt.Size) {
	trimmed, err := t.store.TrimResults(ctx, sessionID, int64(most))
	if err != nil {
		t.life.Log.Error("bounding results", "session", sessionID, "error", err)
	} else if trimmed > 0 {
		t.life.Log.Info("dropped the output of old results", "session", sessionID, "count", trimmed)
	}
}

// keptSlack is which part of a quota results may take between two looks at it: a look reads the sizes of all of them.
const keptSlack = 16

// kept counts the bytes of results that were stored since the quotas were looked at. The zero value is ready for use.
type kept struct {
	mu       sync.Mutex
	all      int64
	sessions map[string]int64 // of those that live
}

// add counts a result, and reports which of the two quotas are to be looked at.
func (k *kept) add(sessionID string, bytes int64, quota, space yurt.Size) (ofSession, ofAll bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions == nil {
		k.sessions = make(map[string]int64)
	}
	k.all += bytes
	k.sessions[sessionID] += bytes
	if ofSession = k.sessions[sessionID] > int64(quota)/keptSlack; ofSession {
		delete(k.sessions, sessionID)
	}
	if ofAll = k.all > int64(space)/keptSlack; ofAll {
		k.all = 0
	}
	return ofSession, ofAll
}

// forget drops the count of a session that has ended.
func (k *kept) forget(sessionID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.sessions, sessionID)
}

// boundResults enforces the quotas after a result was stored. Each is exceeded by a sixteenth of it at most, and by results that
// other controllers store at the same time.
func (t *Tracker) boundResults(ctx context.Context, sessionID string, result *yurt.Result) {
	bytes := result.OutputBytes(yurt.EventStdout) + result.OutputBytes(yurt.EventStderr) + int64(len(result.Result))
	for _, display := range result.Displays {
		for _, data := range display {
			bytes += int64(len(data))
		}
	}
	ofSession, ofAll := t.kept.add(sessionID, bytes, t.quota, t.space)
	if ofSession {
		t.Trim(ctx, sessionID, t.quota)
	}
	if ofAll {
		t.Trim(ctx, "", t.space)
	}
}
