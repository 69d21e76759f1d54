package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
	"github.com/yurtrun/yurt/controller/internal/optional"
)

const (
	startLimit        = time.Minute            // for a node to record an execution
	defaultHandler    = "handler"              // name of a handler that the request does not name
	maxNamedTemplates = 10                     // that an error names
	firstPoll         = 5 * time.Millisecond   // for a result that another controller is about to store
	storePoll         = 500 * time.Millisecond // the longest time between two looks for it
)

// Request describes an execution: Code in a Language; or Command; or the Handler in Code with an Event; or a
// Handler that the program Command serves, which asks the Lambda Runtime API for its events. A field that is nil or
// empty takes the template's default.
type Request struct {
	Code     string
	Language string   // may be left out when the template has one runtime
	Command  []string // argv; see [ShellCommand]
	Handler  string
	// Plain says that Code is run as it is. Without it, and without a ContextName, code that
	// only defines things and a function "handler" among them is taken for a handler.
	Plain   bool
	Event   json.RawMessage
	Context json.RawMessage // object whose fields override the handler's context
	// ContextName is where code keeps its state; empty means nowhere: a fresh
	// interpreter. Nil means the default context in a persistent session, if the language
	// keeps state at all.
	ContextName *string

	Files []yurt.SourceFile // written to the working directory first
	Entry string            // the one of them, or of those that are there, to run in place of Code
	Args  []string          // of Code or Entry
	// Dependencies are packages that are installed first, as the package manager of the
	// Language writes them: also for a Handler that a Command serves.
	Dependencies []string

	Stdin       []byte
	Env         map[string]string
	Cwd         string // relative to the workspace
	Timeout     *yurt.Duration
	OutputLimit *yurt.Size

	StdinOpen bool               // more may come after Stdin, see [Runner.WriteStdin]
	Terminal  *yurt.TerminalSize // stdin, stdout and stderr are a terminal; zero sides take the default
}

// ShellCommand returns the argv that runs a line in the sandbox's shell.
func ShellCommand(line string) []string {
	if strings.TrimSpace(line) == "" {
		return []string{}
	}
	return []string{"/bin/sh", "-c", line}
}

// kind derives the kind of the execution from the fields that are set.
func (r *Request) kind() (yurt.ExecutionKind, error) {
	handler := r.Handler != "" || r.Event != nil || r.Context != nil
	switch {
	case r.Plain && handler:
		return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "handler", "it is null, which says that no handler is called, beside an event or the fields of a handler's context; leave out either")
	case r.Command != nil && !handler:
		return yurt.KindCommand, nil
	case handler:
		return yurt.KindHandler, nil
	case r.Code != "" || r.Entry != "":
		return yurt.KindCode, nil
	default:
		return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "code", "there is nothing to run; give \"code\" with a \"language\", \"files\" with their \"entry\", a \"command\", or \"code\" with a \"handler\" and its \"event\"")
	}
}

// Execute starts req in the session and returns its record at once. It goes on when
// the caller leaves. A session that has ended is a [yurt.CodeSessionEnded] error;
// one that cannot run it now is [yurt.CodeIllegalTransition].
func (r *Runner) Execute(ctx context.Context, sessionID string, req Request) (_ yurt.Execution, err error) {
	defer r.reach.SayEnded(ctx, sessionID, &err)
	if err := r.life.Serving(); err != nil {
		return yurt.Execution{}, err
	}
	session, err := r.reach.Session(ctx, sessionID)
	if err != nil {
		return yurt.Execution{}, err
	}
	spec, err := r.executionSpec(ctx, session, req)
	if err != nil {
		return yurt.Execution{}, err
	}
	if err := session.MayExecute(); err != nil { // errors in the request come first
		return yurt.Execution{}, err
	}
	node, err := r.reach.Node(ctx, session)
	if err != nil {
		return yurt.Execution{}, err
	}
	record := yurt.Execution{
		ID: spec.ID, SessionID: session.ID, Kind: spec.Kind, Language: spec.Language,
		State: yurt.ExecutionRunning, CreatedAt: r.life.Now(), Owner: r.life.ID,
	}
	return record, r.start(ctx, node, session, record, spec)
}

// start records the execution, starts it at the node and follows it.
func (r *Runner) start(ctx context.Context, node contract.Node, session yurt.Session, record yurt.Execution, spec yurt.ExecutionSpec) error {
	work, cancel := life.Detached(ctx, startLimit)
	defer cancel()
	run := r.tracker.register(session, node, record, spec.OutputLimit) // first, so that an end of the session finds it
	_, err := r.store.BeginExecution(work, record, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if err := s.MayExecute(); err != nil {
			return nil, err
		}
		s.ActiveAt = record.CreatedAt
		if s.State == yurt.SessionRunning {
			return nil, nil
		}
		change, err := s.Transition(yurt.SessionRunning, "execution "+record.ID+" started", record.CreatedAt)
		return []yurt.Transition{change}, err
	})
	if err != nil {
		r.tracker.drop(run)
		r.life.Repair(err, "an execution that may not have been stored", record.ID, func(ctx context.Context) error {
			return r.endUnstarted(ctx, record.ID, err)
		})
		return err
	}
	if err := r.tracker.startSomewhere(work, run, session, spec); err != nil {
		r.tracker.finish(run, run.explained(notStarted(err, r.life.Now())), keepSession)
		return yurt.OrCode(err, yurt.CodeSandboxFailed, "the execution could not be started")
	}
	if !r.life.Background(func(context.Context) { r.tracker.follow(run) }) {
		run.leave()
		return yurt.Errorf(yurt.CodeUnavailable, "the controller is shutting down; execution %s goes on", record.ID)
	}
	return nil
}

// endUnstarted ends an execution that was not started, if it is there.
func (r *Runner) endUnstarted(ctx context.Context, id string, cause error) error {
	result := notStarted(cause, r.life.Now())
	_, _, err := r.store.EndExecution(ctx, id, result, func(s *yurt.Session, running int) ([]yurt.Transition, error) {
		return r.tracker.afterEnd(s, running, id, result, keepSession)
	})
	if yurt.CodeOf(err) == yurt.CodeExecutionNotFound {
		return nil
	}
	return err
}

// executionSpec validates req and fills in the defaults of the session's template.
func (r *Runner) executionSpec(ctx context.Context, session yurt.Session, req Request) (yurt.ExecutionSpec, error) {
	kind, err := req.kind()
	if err != nil {
		return yurt.ExecutionSpec{}, err
	}
	template, err := r.templateOf(ctx, session)
	if err != nil {
		return yurt.ExecutionSpec{}, err
	}
	defaults := yurt.DefaultSessionLimits()
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: kind, Code: req.Code, Command: req.Command,
		Files: req.Files, Entry: req.Entry, Args: req.Args, Dependencies: req.Dependencies,
		Event: req.Event, Context: req.Context, Stdin: req.Stdin, Env: req.Env, Cwd: req.Cwd,
		Timeout:     optional.Or(req.Timeout, template.ExecutionTimeout, defaults.ExecutionTimeout),
		OutputLimit: optional.Or(req.OutputLimit, template.OutputLimit, defaults.OutputLimit),
	}
	spec.StdinOpen = req.StdinOpen
	if req.Terminal != nil {
		size := req.Terminal.Or(yurt.TerminalSize{Rows: yurt.DefaultTerminalRows, Cols: yurt.DefaultTerminalCols})
		spec.Terminal = &size
	}
	if err := setHandler(&spec, req); err != nil {
		return yurt.ExecutionSpec{}, err
	}
	if req.Command == nil || kind == yurt.KindHandler && len(req.Dependencies) > 0 {
		if spec.Language, err = r.language(ctx, session.TemplateID, template.Runtimes, req.Language); err != nil {
			return yurt.ExecutionSpec{}, err
		}
	}
	if err := setContext(&spec, session, req); err != nil {
		return yurt.ExecutionSpec{}, err
	}
	if spec.Cwd != "" && !path.IsAbs(spec.Cwd) {
		spec.Cwd = path.Join(yurt.WorkspaceDir, spec.Cwd)
	}
	return spec, spec.Validate()
}

// setHandler says which function is called: of a handler the one that was asked for, of code the
// default one if the code only defines things and it among them, which its runtime finds out.
func setHandler(spec *yurt.ExecutionSpec, req Request) error {
	if spec.Kind == yurt.KindCode && spec.Code != "" && !req.Plain && req.ContextName == nil {
		spec.Handler = defaultHandler
	}
	if spec.Kind != yurt.KindHandler {
		return nil
	}
	spec.Handler = cmp.Or(req.Handler, defaultHandler)
	if spec.Event == nil {
		spec.Event = json.RawMessage("{}")
	}
	return spec.TakeEventTimeout()
}

// templateOf returns the session's copy of its template.
func (r *Runner) templateOf(ctx context.Context, session yurt.Session) (*yurt.SessionTemplate, error) {
	if session.Template != nil {
		return session.Template, nil
	}
	template, err := r.templates.Template(access.OfTenant(ctx, session.Tenant), session.TemplateID)
	return template.ForSession(), err
}

// language returns the language to run in: the one that was asked for, which has to belong to one of
// the runtimes of the template, or that of its only runtime, or [yurt.DefaultLanguage] among several.
func (r *Runner) language(ctx context.Context, template string, has []string, asked string) (string, error) {
	if asked == "" {
		switch {
		case len(has) == 1:
			return has[0], nil
		case slices.Contains(has, yurt.DefaultLanguage):
			return yurt.DefaultLanguage, nil
		}
		return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "language", "give a language of template %s; %s", template, languages(has))
	}
	if err := yurt.ValidateName("language", asked); err != nil {
		return "", err
	}
	if slices.Contains(has, asked) {
		return asked, nil
	}
	runtimes, err := r.templates.Runtimes(ctx)
	if err != nil {
		return "", err
	}
	var having []string // runtimes of the language
	for _, r := range runtimes {
		if r.Name != asked && !slices.Contains(r.Languages, asked) {
			continue
		}
		if slices.Contains(has, r.Name) {
			return asked, nil
		}
		having = append(having, r.Name)
	}
	others, err := r.templatesWith(ctx, having)
	if err != nil {
		return "", err
	}
	return "", yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "language", "template %s has no language %.40q; %s%s", template, asked, languages(has), others)
}

func languages(has []string) string {
	if len(has) == 0 {
		return "it has none, only commands"
	}
	return "it has " + strings.Join(has, ", ")
}

// templatesWith says which templates have one of the runtimes.
func (r *Runner) templatesWith(ctx context.Context, runtimes []string) (string, error) {
	all, err := r.templates.Templates(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, t := range all {
		if slices.ContainsFunc(t.Runtimes, func(name string) bool { return slices.Contains(runtimes, name) }) {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	if more := len(names) - maxNamedTemplates; more > 0 {
		names = append(names[:maxNamedTemplates], fmt.Sprintf("%d more", more))
	}
	return "; create a session of a template that has it: " + strings.Join(names, ", "), nil
}

// Execution returns the record of an execution, with its result once it has ended.
// An empty id means the session's latest.
func (r *Runner) Execution(ctx context.Context, sessionID, id string) (yurt.Execution, error) {
	if _, err := r.reach.Session(ctx, sessionID); err != nil {
		return yurt.Execution{}, err
	}
	if id == "" {
		return r.store.LatestExecution(ctx, sessionID)
	}
	if !yurt.ValidID(yurt.ExecutionIDPrefix, id) {
		return yurt.Execution{}, yurt.Errorf(yurt.CodeExecutionNotFound, "there is no such execution; ids look like %sab12…", yurt.ExecutionIDPrefix)
	}
	return r.store.Execution(ctx, sessionID, id)
}

// Executions lists a session's executions that match query, newest first, without their results.
func (r *Runner) Executions(ctx context.Context, sessionID string, query contract.ExecutionQuery) ([]yurt.Execution, error) {
	if _, err := r.reach.Session(ctx, sessionID); err != nil {
		return nil, err
	}
	return r.store.Executions(ctx, sessionID, query)
}

// mayReach reports whether what a tenant has in memory here is the caller's.
func mayReach(ctx context.Context, tenant string) bool {
	caller, known := access.From(ctx)
	return !known || caller.Everywhere() || caller.Tenant == tenant
}

// WaitExecution returns the execution once it has ended, with its result.
func (r *Runner) WaitExecution(ctx context.Context, sessionID, id string) (yurt.Execution, error) {
	for pause := firstPoll; ; pause = min(2*pause, storePoll) {
		if run := r.tracker.find(sessionID, id); run != nil && mayReach(ctx, run.tenant) {
			return r.tracker.wait(ctx, run)
		}
		record, err := r.Execution(ctx, sessionID, id)
		if err != nil || record.State.Ended() {
			return record, err
		}
		life.Sleep(ctx, pause)
		if ctx.Err() != nil {
			return yurt.Execution{}, ctx.Err()
		}
	}
}
