package kernel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/initd/steps"
	"github.com/yurtrun/yurt/executor/kernel/internal/protocol"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// functionLanguage is the language of contexts that hold a Lambda function's runtime client in place of an interpreter.
const functionLanguage = "lambda"

// IsFunction reports whether an execution is the invocation of a function whose process
// asks the Lambda Runtime API for it: a client's, or that of a handler that stays warm.
func IsFunction(spec yurt.ExecutionSpec) bool {
	return spec.Kind == yurt.KindHandler && (len(spec.Command) > 0 || spec.ContextName != "")
}

// asFunction gives an invocation the context of its function. The start parameters of its process identify a function:
// one process serves all invocations that share them, one after the other.
func asFunction(spec yurt.ExecutionSpec) (yurt.ExecutionSpec, error) {
	identity, err := json.Marshal([]any{spec.Command, spec.Handler, sandbox.WorkDirOf(spec.Cwd), spec.Env, spec.Files, functionName(spec)})
	if err != nil {
		return spec, fmt.Errorf("telling functions apart: %w", err)
	}
	sum := sha256.Sum256(identity)
	spec.Language, spec.ContextName = functionLanguage, "function-"+hex.EncodeToString(sum[:8])
	return spec, nil
}

// StartInvocation queues the invocation of a function.
func (e *Engine) StartInvocation(s *Sandbox, spec yurt.ExecutionSpec, phases *sandbox.Phases) error {
	spec, err := s.PrepareInvocation(spec)
	if err != nil {
		return err
	}
	return e.queueCell(s, spec, phases)
}

// PrepareInvocation prepares an invocation for its queue.
func (s *Sandbox) PrepareInvocation(spec yurt.ExecutionSpec) (yurt.ExecutionSpec, error) {
	spec, err := asFunction(spec)
	if err != nil {
		return spec, err
	}
	if err := s.WriteSources(sandbox.WorkDirOf(spec.Cwd), spec.Files); err != nil {
		return spec, err
	}
	spec.Files = nil
	return spec, nil
}

// functionName is the name that the request's context gives the function, or that of the handler.
func functionName(spec yurt.ExecutionSpec) string {
	if given := contextText(spec, "function_name"); given != "" {
		return given
	}
	return spec.Handler[strings.LastIndexByte(spec.Handler, '.')+1:]
}

func functionARN(spec yurt.ExecutionSpec) string {
	if given := contextText(spec, "invoked_function_arn"); given != "" {
		return given
	}
	return "arn:aws:lambda:us-east-1:000000000000:function:" + functionName(spec)
}

// contextText returns a field of the request's context that is text without control
// characters, and "" for any other.
func contextText(spec yurt.ExecutionSpec, name string) string {
	var text string
	if json.Unmarshal(contextField(spec, name), &text) != nil || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return text
}

// contextObject returns a field of the request's context as JSON in one line, and "" when it is no object.
func contextObject(spec yurt.ExecutionSpec, name string) string {
	var object map[string]any
	if json.Unmarshal(contextField(spec, name), &object) != nil || object == nil {
		return ""
	}
	data, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	return string(data)
}

func contextField(spec yurt.ExecutionSpec, name string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(spec.Context, &fields) != nil {
		return nil
	}
	return fields[name]
}

// traceID returns a trace ID in the format that tracers expect. It is derived from the execution's ID, so that each
// execution has one trace, and marked as not sampled.
func traceID(spec yurt.ExecutionSpec) string {
	sum := sha256.Sum256([]byte(spec.ID))
	text := hex.EncodeToString(sum[:20])
	return "Root=1-" + text[:8] + "-" + text[8:32] + ";Parent=" + text[24:40] + ";Sampled=0"
}

// functionEnv is the environment that Lambda documents for runtimes.
func functionEnv(s *Sandbox, spec yurt.ExecutionSpec, api string) map[string]string {
	name := functionName(spec)
	return map[string]string{
		"AWS_LAMBDA_RUNTIME_API":          api,
		"_HANDLER":                        spec.Handler,
		"LAMBDA_TASK_ROOT":                sandbox.WorkDirOf(spec.Cwd),
		"LAMBDA_RUNTIME_DIR":              sandbox.WorkDirOf(spec.Cwd),
		"AWS_LAMBDA_FUNCTION_NAME":        name,
		"AWS_LAMBDA_FUNCTION_VERSION":     "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.FormatInt(int64(s.Record.Spec.Resources.Memory>>20), 10),
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + name,
		"AWS_LAMBDA_LOG_STREAM_NAME":      "[$LATEST]" + s.ID(),
		"AWS_REGION":                      "us-east-1",
		"AWS_DEFAULT_REGION":              "us-east-1",
	}
}

// startFunction starts the process of a function, and the Runtime API for it.
func (e *Engine) startFunction(s *Sandbox, spec yurt.ExecutionSpec) (_ protocol.Process, err error) {
	if err := e.UntilStartable(s); err != nil {
		return nil, err
	}
	defer s.Gate.RUnlock()
	p := newFunctionProcess(e.newKernelProcess(s, yurt.NewKernelID()))
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.InitTimeout)
	defer cancel()
	defer func() {
		if err != nil {
			p.Kill()
			p.Close()
		}
	}()
	record := kernelRecord{Version: records.Version, ID: p.id, Function: true, Context: spec.ContextName}
	if err := s.writeKernelRecord(record); err != nil {
		return nil, err
	}
	if p.listener, err = s.listenInside(); err != nil {
		return nil, err
	}
	j, err := e.planFunction(ctx, s, p.id, spec, p.listener.Addr().String())
	if err != nil {
		return nil, err
	}
	if err := s.WriteFiles(p.id, j.Files); err != nil {
		return nil, err
	}
	if err := p.startFunction(ctx, spec, j); err != nil {
		return nil, err
	}
	p.serve()
	return p, nil
}

// listenInside returns a listener at the sandbox's loopback interface.
func (s *Sandbox) listenInside() (*insideListener, error) {
	listener, err := s.Broker.Listen(s.ID())
	if err != nil {
		return nil, err
	}
	return &insideListener{listener}, nil
}

// startFunction has the process started, in a cgroup of its own, with the writing ends of
// its pipes.
func (p *functionProcess) startFunction(ctx context.Context, spec yurt.ExecutionSpec, j run.Job) error {
	given, err := p.makePipes()
	defer descriptor.CloseAll(given)
	if err != nil {
		return err
	}
	p.plan = j.Plan
	return p.startIn(ctx, j.Language, initd.StartRequest{
		ID: p.id, Argv: j.Argv, Env: j.Env, Dir: sandbox.WorkDirOf(spec.Cwd), UID: rootfs.UserID, GID: rootfs.GroupID,
		HasStdout: true, HasStderr: true, OutputLimit: math.MaxInt64,
		HasControl: j.Control, ControlLimit: steps.MaxReport,
	}, given)
}

// makePipes makes the pipes of stdout and stderr. Their writing ends are opened twice: for
// the function, and for us, so that we never wait where the function does.
func (p *functionProcess) makePipes() (given []*os.File, err error) {
	for i := range p.pipes {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			return given, fmt.Errorf("making a pipe: %w", err)
		}
		given = append(given, os.NewFile(uintptr(ends[1]), "output"))
		if err := unix.SetNonblock(ends[0], true); err != nil {
			return given, fmt.Errorf("making a pipe: %w", err)
		}
		p.pipes[i].out = os.NewFile(uintptr(ends[0]), "output")
		if p.pipes[i].marks, err = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", ends[1]), os.O_WRONLY|unix.O_NONBLOCK, 0); err != nil {
			return given, fmt.Errorf("opening a pipe again: %w", err)
		}
	}
	return given, nil
}

// debtRecord says that a kernel of a context is gone, and that no execution has said so yet.
type debtRecord struct {
	Version   int       `json:"version"`
	Language  string    `json:"language"`
	Context   string    `json:"context"`
	CreatedAt time.Time `json:"created_at"` // the context
}

// noteDebt keeps, over a restart of the executor, whether the context owes its executions
// word of a kernel that is gone.
func (e *Engine) noteDebt(s *Sandbox, c *sessionContext, owed bool) {
	if s.CheckUsable() != nil {
		return
	}
	if err := s.writeDebt(c.key, c.created, owed); err != nil {
		e.logger.Warn("that a kernel is gone will be forgotten by the next executor", "sandbox", s.ID(), "context", c.key.name, "error", err)
	}
}

func (s *Sandbox) writeDebt(key contextKey, created time.Time, owed bool) error {
	path := s.debtPath(key)
	if !owed {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing a record: %w", err)
		}
		return nil
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("writing a record: %w", err)
	}
	return records.Write(path, debtRecord{Version: records.Version, Language: key.language, Context: key.name, CreatedAt: created})
}

// debtPath is where the record of a context's debt is. Names of contexts are their users'.
func (s *Sandbox) debtPath(key contextKey) string {
	sum := sha256.Sum256([]byte(key.language + "\x00" + key.name))
	return filepath.Join(s.Path(sandbox.DebtsDir), hex.EncodeToString(sum[:16]))
}

// adoptDebts reads which contexts of the sandbox owe a notice of a restart. It makes the contexts of interpreters
// again; that of a function is made by the next invocation, which describes it.
func (e *Engine) adoptDebts(s *Sandbox) error {
	entries, err := os.ReadDir(s.Path(sandbox.DebtsDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("looking for records: %w", err)
	}
	for _, entry := range entries {
		var record debtRecord
		if err := records.Read(filepath.Join(s.Path(sandbox.DebtsDir), entry.Name()), &record); err != nil {
			return err
		}
		s.debts[contextKey{record.Language, record.Context}] = record.CreatedAt
		if record.Language == functionLanguage {
			continue
		}
		if _, err := e.contextOf(s, yurt.ExecutionSpec{Language: record.Language, ContextName: record.Context}); err != nil {
			return err
		}
	}
	return nil
}
