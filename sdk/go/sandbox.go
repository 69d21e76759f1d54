package yurtclient

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

// Sandbox is a session with the calls that a program makes of it. It is safe for concurrent use.
type Sandbox struct {
	ID    string
	Files Workspace // by path, relative to /workspace

	client *Client
	mu     sync.Mutex
	info   yurt.Session
}

func (c *Client) sandbox(info yurt.Session) *Sandbox {
	return &Sandbox{ID: info.ID, Files: Workspace{client: c, session: info.ID}, client: c, info: info}
}

// Create makes a sandbox of the template "default", unless the request names another. A request
// whose answer is lost is repeated, see [WithPatience], and makes no second sandbox.
func (c *Client) Create(ctx context.Context, req CreateSessionRequest) (*Sandbox, error) {
	if req.TemplateID == "" {
		req.TemplateID = "default"
	}
	if req.IdempotencyKey == "" {
		req.IdempotencyKey = rand.Text()
	}
	info, err := c.CreateSession(ctx, req)
	if err != nil {
		return nil, err
	}
	return c.sandbox(info), nil
}

// Connect returns the sandbox of that id.
func (c *Client) Connect(ctx context.Context, id string) (*Sandbox, error) {
	if id == "" || id == "." || id == ".." { // of which a server would make another path
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "%q is no id of a sandbox; give one such as Sandbox.ID", id)
	}
	info, err := c.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.sandbox(info), nil
}

// List yields the sandboxes that live, newest first, over all pages. An error ends it.
func (c *Client) List(ctx context.Context, filter SessionFilter) iter.Seq2[yurt.Session, error] {
	return func(yield func(yurt.Session, error) bool) {
		for {
			page, err := c.Sessions(ctx, filter)
			if err != nil {
				yield(yurt.Session{}, err)
				return
			}
			for _, session := range page.Sessions {
				if !session.State.Ended() && !yield(session, nil) {
					return
				}
			}
			if filter.Cursor = page.NextCursor; filter.Cursor == "" {
				return
			}
		}
	}
}

// Info returns the sandbox's session as the server told it last.
func (s *Sandbox) Info() yurt.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

func (s *Sandbox) changed(info yurt.Session, err error) (yurt.Session, error) {
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.info = info
	}
	return info, err
}

// Refresh asks for the sandbox's state.
func (s *Sandbox) Refresh(ctx context.Context) (yurt.Session, error) {
	return s.changed(s.client.Session(ctx, s.ID))
}

// Pause stops everything that runs in the sandbox, which keeps its memory.
func (s *Sandbox) Pause(ctx context.Context) (yurt.Session, error) {
	return s.changed(s.client.PauseSession(ctx, s.ID))
}

// Resume lets a paused sandbox go on.
func (s *Sandbox) Resume(ctx context.Context) (yurt.Session, error) {
	return s.changed(s.client.ResumeSession(ctx, s.ID))
}

// SetTimeout gives the sandbox another lifetime, since its creation, and another idle timeout. A zero one stays as it is.
func (s *Sandbox) SetTimeout(ctx context.Context, lifetime, idle time.Duration) (yurt.Session, error) {
	return s.changed(s.client.SetSessionTimeout(ctx, s.ID, yurt.Duration(lifetime), yurt.Duration(idle)))
}

// Kill ends the sandbox. One that has ended is a [yurt.CodeSessionEnded] error, except with [DeleteResults].
func (s *Sandbox) Kill(ctx context.Context, options ...EndOption) (yurt.Session, error) {
	return s.changed(s.client.EndSession(ctx, s.ID, options...))
}

// Stream starts a request and returns its execution, whose events follow it.
func (s *Sandbox) Stream(ctx context.Context, req ExecuteRequest) (*Execution, error) {
	return s.client.stream(ctx, s.ID, req)
}

// Run runs a request and returns its result. That the code failed is no error: see [yurt.Result]. When ctx
// ends first the execution is cancelled.
func (s *Sandbox) Run(ctx context.Context, req ExecuteRequest) (*yurt.Result, error) {
	execution, err := s.Stream(ctx, req)
	if err != nil {
		return nil, err
	}
	return execution.Wait(ctx)
}

// RunCode runs code. Variables and imports last from one run to the next. [Sandbox.Run] has more options.
func (s *Sandbox) RunCode(ctx context.Context, language, code string) (*yurt.Result, error) {
	return s.Run(ctx, ExecuteRequest{Language: language, Code: code, Plain: true})
}

// RunCommand runs a line for the shell.
func (s *Sandbox) RunCommand(ctx context.Context, line string) (*yurt.Result, error) {
	return s.Run(ctx, ExecuteRequest{Command: Command{Shell: line}})
}

// Invoke calls the function of the request's code that [ExecuteRequest.Handler] names, "handler" if that is empty, as AWS
// Lambda does. The result holds its return value.
func (s *Sandbox) Invoke(ctx context.Context, req ExecuteRequest, event any) (*yurt.Result, error) {
	data, err := json.Marshal(event)
	if err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "event", "JSON cannot say it: %w; give text, finite numbers, slices, maps and structs", err)
	}
	if _, bad := notText(reflect.ValueOf(event), ""); bad {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "event", "it holds bytes that are not UTF-8; give text, or a []byte, which JSON has in base64")
	}
	if req.Event = data; req.Handler == "" {
		req.Handler = "handler"
	}
	return s.Run(ctx, req)
}

// Execution returns an execution that was started before. Its events come from the first.
func (s *Sandbox) Execution(id string) *Execution {
	return &Execution{ID: id, client: s.client, session: s.ID}
}

// Terminal opens a terminal. The caller closes it.
func (s *Sandbox) Terminal(ctx context.Context, req TerminalRequest) (*Terminal, error) {
	return s.client.OpenTerminal(ctx, s.ID, req)
}

// Contexts lists the interpreters whose variables last, and that match.
func (s *Sandbox) Contexts(ctx context.Context, filter ...ContextFilter) ([]yurt.Context, error) {
	return s.client.Contexts(ctx, s.ID, filter...)
}

// RestartContext gives a context a fresh interpreter, see [Client.RestartContext].
func (s *Sandbox) RestartContext(ctx context.Context, name, language string) error {
	return s.client.RestartContext(ctx, s.ID, name, language)
}

// Executions yields what ran and runs in the sandbox, newest first, without the results. An error ends it.
func (s *Sandbox) Executions(ctx context.Context, filter ...ExecutionFilter) iter.Seq2[yurt.Execution, error] {
	return pages[yurt.Execution](ctx, s.client, sessionPath(s.ID)+"/executions", "executions", queryOfAll(filter))
}

// Latest returns the execution that was started last, with its result if it has ended.
func (s *Sandbox) Latest(ctx context.Context) (yurt.Execution, error) {
	return s.client.Execution(ctx, s.ID, "")
}

// LatestResult returns the result of the execution that was started last. While it runs the error is
// [yurt.CodeExecutionRunning].
func (s *Sandbox) LatestResult(ctx context.Context) (*yurt.Result, error) {
	ended, err := s.client.Result(ctx, s.ID, "")
	if err != nil {
		return nil, err
	}
	return ended.Result, nil
}

// Changes lists the changes of the sandbox's state, oldest first.
func (s *Sandbox) Changes(ctx context.Context) ([]yurt.Transition, error) {
	return s.client.SessionEvents(ctx, s.ID)
}

// FollowChanges yields the changes of the sandbox's state after a number, see [FollowChanges].
func (s *Sandbox) FollowChanges(ctx context.Context, after uint64) iter.Seq2[SessionChange, error] {
	return FollowChanges(ctx, s.client, s.ID, after)
}

// CreateToken makes a token for the sandbox alone, see [Keys.CreateToken].
func (s *Sandbox) CreateToken(ctx context.Context, req CreateTokenRequest) (access.Key, access.Secret, error) {
	return s.client.Keys().CreateToken(ctx, s.ID, req)
}

// RemoveContext removes a context, see [Client.RemoveContext].
func (s *Sandbox) RemoveContext(ctx context.Context, name, language string) error {
	return s.client.RemoveContext(ctx, s.ID, name, language)
}

// Complete says how code in a context may go on, see [Client.Complete].
func (s *Sandbox) Complete(ctx context.Context, name string, question yurt.Question) (yurt.Completion, error) {
	return s.client.Complete(ctx, s.ID, name, question)
}

// Inspect describes the name at the cursor in a context, see [Client.Inspect].
func (s *Sandbox) Inspect(ctx context.Context, name string, question yurt.Question) (yurt.Inspection, error) {
	return s.client.Inspect(ctx, s.ID, name, question)
}

// Processes lists the processes in the sandbox that match.
func (s *Sandbox) Processes(ctx context.Context, filter ...ProcessFilter) ([]yurt.Process, error) {
	return s.client.Processes(ctx, s.ID, filter...)
}

// SignalProcess sends a signal to a process, by its number inside the sandbox.
func (s *Sandbox) SignalProcess(ctx context.Context, pid int, signal yurt.Signal) error {
	return s.client.SignalProcess(ctx, s.ID, pid, signal)
}

// KillProcess kills a process, by its number inside the sandbox.
func (s *Sandbox) KillProcess(ctx context.Context, pid int) error {
	what := call{method: http.MethodDelete, path: sessionPath(s.ID) + "/processes/" + strconv.Itoa(pid), single: true} // a later process may have the number
	return s.client.roundTrip(ctx, what, nil)
}

// Logs returns the last limit bytes of the output of executions, see [Client.Logs].
func (s *Sandbox) Logs(ctx context.Context, limit int) ([]yurt.LogEntry, error) {
	logs, _, err := s.client.Logs(ctx, s.ID, limit)
	return logs, err
}

// FollowLogs yields the entries of [Sandbox.Logs], and then the output of executions as it comes, until the sandbox has ended.
func (s *Sandbox) FollowLogs(ctx context.Context, limit int) iter.Seq2[yurt.LogEntry, error] {
	return pushed(func(each func(yurt.LogEntry) error) error { return s.client.FollowLogs(ctx, s.ID, limit, each) })
}

// Metrics says how much the sandbox uses.
func (s *Sandbox) Metrics(ctx context.Context) (yurt.SandboxStats, error) {
	return s.client.SessionMetrics(ctx, s.ID)
}

// errLeft says that the caller has left a loop.
var errLeft = errors.New("the loop was left")

// pushed makes an iterator of a function that calls another with each value.
func pushed[T any](push func(each func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := false
		err := push(func(value T) error {
			if left = !yield(value, nil); left {
				return errLeft
			}
			return nil
		})
		if err != nil && !left {
			var none T
			yield(none, err)
		}
	}
}
