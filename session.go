package yurt

import (
	"maps"
	"slices"
	"time"
)

// Mode says how long a session's sandbox lives.
type Mode string

// The modes.
const (
	ModeEphemeral  Mode = "ephemeral"  // one execution, then the sandbox is destroyed
	ModePersistent Mode = "persistent" // many executions, until it ends
)

// SessionState is where a session is in its life.
type SessionState string

// The states of a session.
const (
	SessionCreating   SessionState = "creating"
	SessionReady      SessionState = "ready"
	SessionRunning    SessionState = "running" // at least one execution is running
	SessionPaused     SessionState = "paused"
	SessionTerminated SessionState = "terminated"
	SessionFailed     SessionState = "failed"
)

// SessionStates lists every state, in the order of a life.
func SessionStates() []SessionState {
	return []SessionState{SessionCreating, SessionReady, SessionRunning, SessionPaused, SessionTerminated, SessionFailed}
}

// next lists the states that may follow s.
func (s SessionState) next() []SessionState {
	switch s {
	case SessionCreating:
		return []SessionState{SessionReady, SessionTerminated, SessionFailed}
	case SessionReady:
		return []SessionState{SessionRunning, SessionPaused, SessionTerminated, SessionFailed}
	case SessionRunning:
		return []SessionState{SessionReady, SessionPaused, SessionTerminated, SessionFailed}
	case SessionPaused:
		return []SessionState{SessionReady, SessionRunning, SessionTerminated, SessionFailed}
	default:
		return nil
	}
}

// CanBecome reports whether a session in state s may enter state to.
func (s SessionState) CanBecome(to SessionState) bool { return slices.Contains(s.next(), to) }

// Ended reports whether no state can follow s.
func (s SessionState) Ended() bool { return s == SessionTerminated || s == SessionFailed }

// Transition is one change of a session's state.
type Transition struct {
	From   SessionState `json:"from,omitempty"`
	To     SessionState `json:"to"`
	Reason string       `json:"reason"`
	At     time.Time    `json:"at"`
}

// Session is a user's hold on a sandbox.
type Session struct {
	ID          string            `json:"id"`
	TemplateID  string            `json:"template_id"`
	Mode        Mode              `json:"mode"`
	State       SessionState      `json:"state"`
	Reason      string            `json:"reason"` // of the last transition
	Tenant      string            `json:"-"`      // whose it is; it never changes
	AgentID     string            `json:"agent_id,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Env         map[string]string `json:"-"` // may hold secrets: never shown
	HasFiles    bool              `json:"-"` // it was given files, which are nowhere but in its sandbox; of an ephemeral one
	Template    *SessionTemplate  `json:"-"` // nil for a session of an older version, which follows its template's current settings
	Resources   Resources         `json:"resources"`
	Timeout     Duration          `json:"timeout"`      // lifetime
	IdleTimeout Duration          `json:"idle_timeout"` // since the last activity
	Placement   Placement         `json:"placement"`
	SandboxID   string            `json:"sandbox_id,omitempty"`
	Owner       string            `json:"-"` // controller that makes its sandbox, while it is being created
	ReuseKey    string            `json:"-"` // under which an agent finds the session again; one live session has it
	CreatedAt   time.Time         `json:"created_at"`
	UpdatedAt   time.Time         `json:"updated_at"`
	ActiveAt    time.Time         `json:"active_at"`         // last request that used the sandbox
	EndsBy      *time.Time        `json:"ends_by,omitempty"` // at the latest, since its node is drained
	EndedAt     *time.Time        `json:"ended_at,omitempty"`
}

// SessionTemplate is the part of its template that the executions of a session need. A session
// keeps it, since the template may be replaced or deleted while the session lives.
type SessionTemplate struct {
	Runtimes         []string `json:"runtimes"`
	ExecutionTimeout Duration `json:"execution_timeout"`
	OutputLimit      Size     `json:"output_limit"`
}

// ForSession returns the part of the template that a session keeps.
func (t Template) ForSession() *SessionTemplate {
	return &SessionTemplate{Runtimes: t.Runtimes, ExecutionTimeout: t.Session.ExecutionTimeout, OutputLimit: t.Session.OutputLimit}
}

// PlacementKind says where a session's sandbox came from.
type PlacementKind string

// The kinds of placement.
const (
	PlacementReused PlacementKind = "reused"
	PlacementWarm   PlacementKind = "warm"
	PlacementCold   PlacementKind = "cold"
)

// Placement says where a session's sandbox is and how long it took to get it.
type Placement struct {
	Kind   PlacementKind      `json:"kind,omitempty"`
	Node   string             `json:"node,omitempty"`
	Phases map[string]float64 `json:"phases_ms,omitempty"` // milliseconds by phase
}

// Transition moves s to state to, or returns a [CodeIllegalTransition] error
// ([CodeSessionEnded] when s has ended) and leaves s as it was.
func (s *Session) Transition(to SessionState, reason string, at time.Time) (Transition, error) {
	if s.State.Ended() {
		return Transition{}, Errorf(CodeSessionEnded, "session %s has ended (%s: %s); create a new one", s.ID, s.State, s.Reason)
	}
	if !s.State.CanBecome(to) {
		return Transition{}, Errorf(CodeIllegalTransition, "session %s is %s and cannot become %s", s.ID, s.State, to)
	}
	change := Transition{From: s.State, To: to, Reason: reason, At: at}
	s.State, s.Reason, s.UpdatedAt = to, reason, at
	if to.Ended() {
		s.EndedAt = &at
	}
	return change, nil
}

// Expiry returns when s runs out unless it is used or its limits are raised, and why.
// A session with a running execution is not idle, nor is one that is paused.
func (s *Session) Expiry() (at time.Time, reason string) {
	at, reason = s.ownExpiry()
	if s.EndsBy != nil && s.EndsBy.Before(at) {
		return *s.EndsBy, "its node " + s.Placement.Node + " is drained"
	}
	return at, reason
}

func (s *Session) ownExpiry() (at time.Time, reason string) {
	lifetime := s.CreatedAt.Add(s.Timeout.Std())
	idle := s.ActiveAt.Add(s.IdleTimeout.Std())
	if s.State == SessionRunning || s.State == SessionPaused || lifetime.Before(idle) {
		return lifetime, "lifetime of " + s.Timeout.String() + " reached"
	}
	return idle, "idle for " + s.IdleTimeout.String()
}

// Remark returns a step of the session's story that leaves its state.
func (s *Session) Remark(reason string, at time.Time) []Transition {
	s.UpdatedAt = at
	return []Transition{{From: s.State, To: s.State, Reason: reason, At: at}}
}

// MayExecute returns an error in a state in which the session can begin no execution.
func (s *Session) MayExecute() error {
	switch {
	case s.State.Ended():
		return Errorf(CodeSessionEnded, "session %s has ended (%s: %s); create a new one", s.ID, s.State, s.Reason)
	case s.State == SessionRunning && s.Mode == ModeEphemeral:
		return Errorf(CodeIllegalTransition, "session %s is ephemeral and runs its one execution already; create another session, or one with mode %q", s.ID, ModePersistent)
	case s.State == SessionPaused:
		return Errorf(CodeIllegalTransition, "session %s is paused and cannot execute; resume it first", s.ID)
	case s.State != SessionReady && s.State != SessionRunning:
		return Errorf(CodeIllegalTransition, "session %s is %s and cannot execute; wait until it is %s", s.ID, s.State, SessionReady)
	}
	return nil
}

// HasSandbox returns an error in a state in which the session has no sandbox.
func (s *Session) HasSandbox() error {
	switch {
	case s.State.Ended():
		return Errorf(CodeSessionEnded, "session %s has ended (%s: %s) and its files are gone; create a new one", s.ID, s.State, s.Reason)
	case s.State == SessionCreating:
		return Errorf(CodeIllegalTransition, "session %s is %s and has no files yet; wait until it is %s", s.ID, s.State, SessionReady)
	}
	return nil
}

// SandboxSpec describes the sandbox of the session.
func (s *Session) SandboxSpec(template Template) SandboxSpec {
	env := maps.Clone(template.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, s.Env)
	return SandboxSpec{
		ID: s.SandboxID, Template: template, Resources: s.Resources, Env: env,
		Labels: map[string]string{SessionLabel: s.ID}, Share: s.Tenant,
	}
}
