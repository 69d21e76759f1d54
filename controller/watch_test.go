package controller_test

import (
	"context"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
)

// slowStore holds back the end of an execution until told comes, or for a time that a faulty watcher would not wait.
type slowStore struct {
	contract.Store

	told chan struct{}
}

func (s *slowStore) EndExecution(ctx context.Context, id string, result *yurt.Result, change contract.SessionChange) (yurt.Session, bool, error) {
	select {
	case <-s.told:
	case <-time.After(200 * time.Millisecond):
	}
	return s.Store.EndExecution(ctx, id, result, change)
}

// TestEndIsToldOnceItIsStored: otherwise a watcher that hears of an execution's end and asks for its result would
// learn that the execution still runs.
func TestEndIsToldOnceItIsStored(t *testing.T) {
	slow := &slowStore{told: make(chan struct{})}
	w := testWorld(t, func(config *controller.Config) {
		slow.Store = config.Store
		config.Store = slow
	})
	s := w.create(yurt.ModePersistent)
	e := w.execute(s.ID, "echo hello")
	var state yurt.ExecutionState
	err := w.WatchExecution(t.Context(), s.ID, e.ID, 0, func(event yurt.Event) error {
		if event.Type != yurt.EventEnded {
			return nil
		}
		now, err := w.Execution(t.Context(), s.ID, e.ID)
		state = now.State
		close(slow.told)
		return err
	})
	if err != nil || state != yurt.ExecutionSucceeded {
		t.Errorf("on the event of its end it is %q, %v", state, err)
	}
}
