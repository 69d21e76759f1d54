package controller_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/execution"
)

// model is a user's view of sessions: the states, and how many executions block in each.
type model struct {
	*world
	ids     []string
	states  map[string]yurt.SessionState
	modes   map[string]yurt.Mode
	blocked map[string][]yurt.Execution
	sandbox map[string]string
}

// TestSessionLife drives sessions through random lives, with crashes and dying
// sandboxes among them, and compares them with the model after each step.
func TestSessionLife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "yurt-model-")
		if err != nil {
			t.Fatal(err)
		}
		m := &model{
			world: newWorld(t, dir), states: map[string]yurt.SessionState{}, modes: map[string]yurt.Mode{},
			blocked: map[string][]yurt.Execution{}, sandbox: map[string]string{},
		}
		defer os.RemoveAll(dir)
		defer m.close()
		t.Repeat(map[string]func(*rapid.T){
			"create":  m.actCreate,
			"run":     m.actRun,
			"block":   m.actBlock,
			"release": m.actRelease,
			"end":     m.actEnd,
			"kill":    m.actKill,
			"idle":    m.actIdle,
			"restart": func(*rapid.T) { m.restart(func() {}) },
			"":        m.check,
		})
	})
}

func (m *model) pick(t *rapid.T) string {
	if len(m.ids) == 0 {
		t.Skip("no session yet")
	}
	return rapid.SampledFrom(m.ids).Draw(t, "session")
}

func (m *model) actCreate(t *rapid.T) {
	if len(m.ids) == 4 {
		t.Skip("enough sessions")
	}
	s := m.create(rapid.SampledFrom([]yurt.Mode{yurt.ModeEphemeral, yurt.ModePersistent}).Draw(t, "mode"))
	m.ids = append(m.ids, s.ID)
	m.states[s.ID], m.modes[s.ID], m.sandbox[s.ID] = yurt.SessionReady, s.Mode, s.SandboxID
}

// begin starts an execution and says whether it could, which must be as the model
// says.
func (m *model) begin(t *rapid.T, id, script string) (yurt.Execution, bool) {
	e, err := m.Execute(context.Background(), id, execution.Request{Command: execution.ShellCommand(script)})
	switch {
	case m.states[id].Ended():
		wantCode(t, err, yurt.CodeSessionEnded)
	case m.states[id] == yurt.SessionRunning && m.modes[id] == yurt.ModeEphemeral:
		wantCode(t, err, yurt.CodeIllegalTransition)
	case err != nil:
		t.Fatalf("executing in a session that is %s: %v", m.states[id], err)
	default:
		return e, true
	}
	return e, false
}

func (m *model) actRun(t *rapid.T) {
	id := m.pick(t)
	e, ok := m.begin(t, id, "echo out exit 3")
	if !ok {
		return
	}
	if got := m.wait(e); got.Result.Stdout != "out\n" || got.Result.ExitCode != 3 {
		t.Errorf("result %+v", got.Result)
	}
	if m.modes[id] == yurt.ModeEphemeral {
		m.states[id] = yurt.SessionTerminated
	}
}

func (m *model) actBlock(t *rapid.T) {
	id := m.pick(t)
	if e, ok := m.begin(t, id, "echo before block echo after"); ok {
		m.states[id] = yurt.SessionRunning
		m.blocked[id] = append(m.blocked[id], e)
	}
}

func (m *model) actRelease(t *rapid.T) {
	m.node.Release()
	for id, blocked := range m.blocked {
		for _, e := range blocked {
			if got := m.wait(e); got.State != yurt.ExecutionSucceeded || got.Result.Stdout != "before\nafter\n" {
				t.Errorf("result %+v", got.Result)
			}
			m.states[id] = yurt.SessionReady
			if m.modes[id] == yurt.ModeEphemeral {
				m.states[id] = yurt.SessionTerminated
			}
		}
		delete(m.blocked, id)
	}
}

// lose expects that everything that blocks in the session ended with the session.
func (m *model) lose(t *rapid.T, id, errorType string) {
	for _, e := range m.blocked[id] {
		if got := m.wait(e); got.Result.Error == nil || got.Result.Error.Type != errorType || got.Result.Stdout != "before\n" {
			t.Errorf("result %+v, error %+v; want %s", got.Result, got.Result.Error, errorType)
		}
	}
	delete(m.blocked, id)
}

func (m *model) actEnd(t *rapid.T) {
	id := m.pick(t)
	_, err := m.EndSession(context.Background(), id)
	if m.states[id].Ended() {
		wantCode(t, err, yurt.CodeSessionEnded)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.states[id] = yurt.SessionTerminated
	m.lose(t, id, yurt.ErrorTypeSessionEnded)
}

func (m *model) actKill(t *rapid.T) {
	id := m.pick(t)
	m.node.Kill(m.sandbox[id], "killed by a test")
	if !m.states[id].Ended() {
		m.states[id] = yurt.SessionFailed
		m.lose(t, id, yurt.ErrorTypeSandboxLost)
	}
}

func (m *model) actIdle(*rapid.T) {
	m.clock.advance(yurt.DefaultIdleTimeout + time.Second)
	for id, state := range m.states {
		if state == yurt.SessionReady {
			m.states[id] = yurt.SessionTerminated
		}
		if state == yurt.SessionRunning && m.session(id).CreatedAt.Add(yurt.DefaultLifetime).Before(m.clock.Now()) {
			m.states[id] = yurt.SessionTerminated
			delete(m.blocked, id)
		}
	}
}

// check compares the world with the model.
func (m *model) check(t *rapid.T) {
	live := 0
	for _, id := range m.ids {
		want := m.states[id]
		if !m.soon(func() bool { return m.session(id).State == want }) {
			s := m.session(id)
			t.Fatalf("session %s is %s (%s), want %s", id, s.State, s.Reason, want)
		}
		if !want.Ended() {
			live++
		}
		story, err := m.Transitions(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		for i, change := range story {
			if i > 0 && (change.From != story[i-1].To || !change.From.CanBecome(change.To) || change.At.Before(story[i-1].At)) {
				t.Errorf("illegal story %+v", story)
			}
		}
		if last := story[len(story)-1]; last.To != want || last.Reason != m.session(id).Reason {
			t.Errorf("the story ends with %+v, the session is %s", last, want)
		}
		m.eventually("the executions of "+id+" are as they should be", func() bool {
			unfinished, err := m.store.UnfinishedExecutions(context.Background(), id)
			return err == nil && len(unfinished) == len(m.blocked[id]) && (want == yurt.SessionRunning) == (len(unfinished) > 0)
		})
	}
	m.eventually("each live session has a sandbox, and no other is there", func() bool { return m.node.Count() == live })
	if ids := slices.Compact(slices.Sorted(slices.Values(m.ids))); len(ids) != len(m.ids) {
		t.Errorf("ids repeat: %v", m.ids)
	}
}
