package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

// testEndLater holds a [controller.LateStore] to what everybody who asks finds, and others to nothing.
func testEndLater(t *testing.T, store controller.Store) {
	late, is := store.(controller.LateStore)
	if !is {
		return
	}
	s := mustCreate(t, store, session(1))
	e := execution(s.ID, 1)
	mustBegin(t, store, e)
	move := func(s *yurt.Session, running int) ([]yurt.Transition, error) {
		if running != 0 {
			t.Errorf("%d executions run, want none", running)
		}
		s.Reason = "it ended"
		return nil, nil
	}
	commit, wanted, err := late.EndExecutionLater(t.Context(), e.ID, result(), move)
	if err != nil {
		t.Fatal(err)
	}
	wantUnwanted(t, wanted)
	for name, ask := range asks(store, e) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := ask(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s did not wait for the end to be stored: %v", name, err)
		}
		cancel()
	}
	<-wanted
	after, ended, err := commit()
	if err != nil || !ended || after.Reason != "it ended" {
		t.Errorf("storing the end gave %+v, %v, %v", after, ended, err)
	}
	for name, ask := range asks(store, e) {
		if err := ask(t.Context()); err != nil {
			t.Errorf("%s, once the end is stored: %v", name, err)
		}
	}
	got, err := store.Execution(t.Context(), s.ID, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	e.State, e.Result = result().State(), result()
	wantEqual(t, "execution", got, e)
	if got, err := store.Session(t.Context(), s.ID); err != nil || got.Reason != "it ended" {
		t.Errorf("the session is %+v, %v", got, err)
	}
	testSecondEndLater(t, late, e)
	testWanted(t, late, e, asks(store, e))
}

func wantUnwanted(t *testing.T, wanted <-chan struct{}) {
	t.Helper()
	select {
	case <-wanted:
		t.Error("it is wanted, and nobody has asked for anything")
	default:
	}
}

// testWanted has somebody ask while an end is to be stored.
func testWanted(t *testing.T, store controller.LateStore, e yurt.Execution, asks map[string]func(context.Context) error) {
	for name, ask := range asks {
		commit, wanted, err := store.EndExecutionLater(t.Context(), e.ID, result(), stay)
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan error, 1)
		go func() { asked <- ask(t.Context()) }()
		select {
		case <-wanted:
		case <-time.After(10 * time.Second):
			t.Errorf("nobody was told that %s waits", name)
		}
		if _, _, err := commit(); err != nil {
			t.Error(err)
		}
		if err := <-asked; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// testSecondEndLater ends an execution that has ended.
func testSecondEndLater(t *testing.T, store controller.LateStore, e yurt.Execution) {
	commit, _, err := store.EndExecutionLater(t.Context(), e.ID, &yurt.Result{Stdout: "second"}, stay)
	if err != nil {
		t.Fatal(err)
	}
	if _, ended, err := commit(); ended || err != nil {
		t.Errorf("a second end counted (%v), error %v", ended, err)
	}
}

// asks are calls that an end of e can make a difference to.
func asks(store controller.Store, e yurt.Execution) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Session": func(ctx context.Context) error {
			_, err := store.Session(ctx, e.SessionID)
			return err
		},
		"Sessions": func(ctx context.Context) error {
			_, err := store.Sessions(ctx, controller.SessionQuery{})
			return err
		},
		"Transitions": func(ctx context.Context) error {
			_, err := store.Transitions(ctx, e.SessionID)
			return err
		},
		"CountSessions": func(ctx context.Context) error {
			_, err := store.CountSessions(ctx)
			return err
		},
		"ExpiredSessions": func(ctx context.Context) error {
			_, err := store.ExpiredSessions(ctx, epoch(), 1)
			return err
		},
		"Execution": func(ctx context.Context) error {
			_, err := store.Execution(ctx, e.SessionID, e.ID)
			return err
		},
		"LatestExecution": func(ctx context.Context) error {
			_, err := store.LatestExecution(ctx, e.SessionID)
			return err
		},
		"Executions": func(ctx context.Context) error {
			_, err := store.Executions(ctx, e.SessionID, controller.Position{}, 1)
			return err
		},
		"UnfinishedExecutions": func(ctx context.Context) error {
			_, err := store.UnfinishedExecutions(ctx, e.SessionID)
			return err
		},
		"ChangeSession": func(ctx context.Context) error {
			_, err := store.ChangeSession(ctx, e.SessionID, stay)
			return err
		},
		"OwnExecution": func(ctx context.Context) error {
			_, err := store.OwnExecution(ctx, e.ID, "nobody", "somebody")
			return err
		},
	}
}
