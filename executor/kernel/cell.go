package kernel

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/kernel/internal/protocol"
	"github.com/yurtrun/yurt/executor/output"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
)

const (
	// maxCellControl bounds a kernel's messages for one execution, in bytes: displays that are left out of the result count too.
	maxCellControl = 4*yurt.MaxDisplayBytes + yurt.MaxResultBytes
	// messageCost is added to a message's bytes: parsing a short message costs more than its bytes.
	messageCost = 256
	// maxSaid bounds the line of standard error that is the message of an error, in bytes.
	maxSaid = 16 << 10
)

// cell is an execution in a context. Its log is that of any run, with its output and its kernel's messages; positions
// link them to the kernel's own output.
type cell struct {
	run     *run.Run
	left    [initd.Streams]int64 // room for output that is kept, in bytes
	begunAt time.Time            // zero before its turn
	adopted bool                 // it was begun by an executor before this one
	kernel  string               // id of the kernel, from then on
	seq     uint64               // chunk of the last entry
	process *kernelProcess
	before  broker.Usage
}

var _ protocol.Cell = (*cell)(nil)

func newCell(r *run.Run) *cell {
	limit := int64(r.Record.Limit)
	return &cell{run: r, left: [initd.Streams]int64{limit, limit, maxCellControl}}
}

// ID implements protocol.Cell.
func (c *cell) ID() string { return c.run.Record.ID }

// Request implements protocol.Cell.
func (c *cell) Request() protocol.Request {
	request := protocol.NewRequest(*c.run.Record.Cell)
	if IsFunction(*c.run.Record.Cell) {
		request.Function = c.run.Record.Cell
	} else if spec := c.run.Record.Cell; spec.Handler != "" {
		request.Handler = &protocol.HandlerCall{
			Name: spec.Handler, Timeout: spec.Timeout.Std().Seconds(),
			Memory: int64(c.run.Sandbox.Record.Spec.Resources.Memory >> 20),
		}
	}
	return request
}

// Waits implements protocol.Cell: it tells the watchers the reason for the wait.
func (c *cell) Waits(behind string) {
	where := "runs in context " + c.run.Record.Cell.ContextName
	if IsFunction(*c.run.Record.Cell) {
		where = "the same function serves"
	}
	text := fmt.Sprintf("waiting for execution %s that %s\n", behind, where)
	_ = c.run.Log.Append(runlog.Entry{Kind: runlog.Progress, At: time.Now(), Data: []byte(text)}) // it does without
}

// StartClock implements protocol.Cell. The clock stands still while the sandbox is paused.
func (c *cell) StartClock(expired func()) {
	s := c.run.Sandbox
	s.Lock()
	paused, pausedFor := s.Record.PausedAt != nil, s.Record.PausedFor-c.run.Record.PausedBefore
	s.Unlock()
	timeout := c.run.Record.Timeout.Std()
	left := timeout
	if c.adopted {
		left = min(timeout, timeout+pausedFor-time.Since(c.begunAt))
	}
	c.run.Clock.Start(left, !paused, expired)
}

// StopClock implements protocol.Cell.
func (c *cell) StopClock() { c.run.Clock.Stop() }

// Begin implements protocol.Cell.
func (c *cell) Begin(process protocol.Process, seq uint64) error {
	switch p := process.(type) {
	case *functionProcess:
		c.process = p.kernelProcess
	case *kernelProcess:
		c.process = p
	}
	if usage, err := c.process.usage.Usage(); err == nil {
		c.before = usage
	}
	if c.adopted {
		return nil
	}
	if c.run.Phases != nil {
		c.run.Phases.Mark("queue")
	}
	c.begunAt, c.kernel = time.Now(), c.process.id
	return c.position(seq)
}

// position says in the log where the next entry is in the kernel's output.
func (c *cell) position(seq uint64) error {
	c.seq = seq
	return c.run.Log.Append(runlog.Entry{Kind: runlog.Position, At: c.begunAt, Data: encodePosition(seq, c.kernel)})
}

func encodePosition(seq uint64, kernelID string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, seq), kernelID...)
}

func decodePosition(data []byte) (seq uint64, kernelID string) {
	if len(data) < 8 {
		return 0, ""
	}
	return binary.BigEndian.Uint64(data), string(data[8:])
}

// Keep implements protocol.Cell. Output beyond the limit is dropped, and so does not
// hold up the program.
func (c *cell) Keep(seq uint64, stream initd.Stream, data []byte) error {
	left := &c.left[stream-1]
	if stream == initd.Control {
		*left -= int64(messageCost * bytes.Count(data, []byte("\n")))
		if int64(len(data)) > *left {
			return fmt.Errorf("it showed more than %s, where each display counts %s more than it has", yurt.Size(maxCellControl), yurt.Size(messageCost))
		}
	}
	if int64(len(data)) > *left {
		data = wholeRunes(data[:*left])
		*left = int64(len(data)) // and no later output
	}
	*left -= int64(len(data))
	if len(data) == 0 {
		return nil
	}
	if seq != 0 && seq != c.seq+1 {
		if err := c.position(seq - 1); err != nil {
			return err
		}
	}
	if seq != 0 {
		c.seq = seq
	}
	return c.run.Log.Append(run.EntryOf(initd.Chunk{Stream: stream, Data: data}))
}

// wholeRunes cuts off the beginning of a character that is not complete.
func wholeRunes(data []byte) []byte {
	for at := len(data) - 1; at >= 0 && at >= len(data)-utf8.UTFMax; at-- {
		if utf8.RuneStart(data[at]) {
			if !utf8.FullRune(data[at:]) {
				return data[:at]
			}
			break
		}
	}
	return data
}

// End implements protocol.Cell.
func (c *cell) End(outcome protocol.Outcome) {
	done := c.run.Assembling()
	c.run.End(c.assemble(outcome))
	done()
	if c.process != nil && !c.adopted { // a kernel that was asked twice may have answered before it read this again
		c.process.answered()
	}
}

// assemble makes the result.
func (c *cell) assemble(o protocol.Outcome) *yurt.Result {
	result, control := c.run.ReadOutput()
	displays := protocol.Displays{}
	_ = new(protocol.Lines).Take(control, func(m protocol.Message) { // the kernel's end reports malformed messages
		if m.Display != nil && m.ID == c.ID() {
			displays.Add(*m.Display)
		}
	})
	result.Displays, result.MainDisplay, result.Truncated.Results = displays.List, displays.Main, displays.Cut
	limit := int64(c.run.Record.Limit)
	result.Metrics.StdoutBytes, result.Metrics.StderrBytes = o.Bytes[0], o.Bytes[1]
	result.Truncated.Stdout, result.Truncated.Stderr = o.Bytes[0] > limit, o.Bytes[1] > limit
	c.run.NoteCut(result)
	result.KernelRestarted, result.StateLost = o.Restarted, o.StateLost
	if o.Done != nil {
		result.ExecutionCount = o.Done.Count
	}
	c.judge(result, o, c.measure(result))
	if result.Error != nil && result.ExitCode == 0 {
		result.ExitCode = 1
	}
	return result
}

// measure records the cell's resource usage, and returns how many processes of its kernel ran out of memory meanwhile
// and were killed.
func (c *cell) measure(result *yurt.Result) (kills int64) {
	if c.process == nil {
		return 0
	}
	after, err := c.process.usage.Usage()
	if err != nil {
		return 0
	}
	c.run.Sandbox.Shortage.Note(c.process.id, after.OOMKills)
	result.Metrics.CPUMS = sandbox.Millis(after.CPU - c.before.CPU)
	result.Metrics.MemoryPeakBytes = after.MemoryPeak
	return after.OOMKills - c.before.OOMKills
}

// judge records a failure's reason, if there was one: Yurt's own reasons first, then the kernel's report, then how the
// kernel ended.
func (c *cell) judge(result *yurt.Result, o protocol.Outcome, oomKills int64) {
	failed := func(code int, kind, format string, args ...any) {
		result.ExitCode = code
		result.Error = &yurt.ExecutionError{Type: kind, Message: fmt.Sprintf(format, args...)}
	}
	killed := yurt.ExecutionExitSignal + int(syscall.SIGKILL)
	if IsFunction(*c.run.Record.Cell) && c.judgeFunction(result, o, oomKills) {
		return
	}
	switch {
	case c.judgeWait(result, o):
	case o.TimedOut && o.StateLost:
		failed(yurt.ExecutionExitTimeout, yurt.ErrorTypeTimeout, "it ran longer than its timeout of %s, did not yield to the interrupt within %s, and was ended with the interpreter of its context; output until then is kept, variables are lost. Give it a longer timeout, or smaller steps", c.run.Record.Timeout, protocol.InterruptGrace)
	case o.TimedOut:
		failed(yurt.ExecutionExitTimeout, yurt.ErrorTypeTimeout, "it ran longer than its timeout of %s, was interrupted, and yielded within %s; output until then and the variables of its context are kept", c.run.Record.Timeout, o.Yielded.Round(100*time.Millisecond)+100*time.Millisecond)
	case o.Done != nil && o.Done.Broken == "":
		result.ExitCode = o.Done.ExitCode
		c.run.TakeOutcome(result, o.Done.Outcome)
		hear(result, o.Done.Speaker)
	case oomKills > 0:
		failed(killed, yurt.ErrorTypeOutOfMemory, "%s. The variables of the context are lost", c.run.Sandbox.Shortage.Message(c.run.Sandbox.Record.Spec.Resources.Memory))
	default:
		if code, why := kernelDied(o); why != "" {
			failed(code, yurt.ErrorTypeKernelDied, "%s", why)
			return
		}
		c.notStarted(result, o.Err)
	}
}

// hear completes an error whose message is the last line of standard error, where that line begins as those of the
// interpreter do. Without the line there was no error. The stack is the kernel's if it ends at the place that the message
// names, and else that place.
func hear(result *yurt.Result, speaker string) {
	if speaker == "" || result.Error == nil {
		return
	}
	end := strings.TrimSuffix(output.Last(context.Background(), result, yurt.EventStderr, maxSaid), "\n")
	message := end[strings.LastIndex(end, "\n")+1:]
	if !strings.HasPrefix(message, speaker) {
		result.Error = nil
		return
	}
	result.Error.Message = message
	stack := result.Error.Stacktrace
	if match := placeInMessage.FindStringSubmatch(message); match != nil {
		place := match[1] + ":" + match[2]
		if len(stack) == 0 || stack[len(stack)-1] != place {
			result.Error.Stacktrace = []string{place}
		}
	}
}

// placeInMessage is the beginning of a message of an interpreter that names a file and a line.
var placeInMessage = regexp.MustCompile(`^(\S.*?): line (\d+): `)

// kernelDied says how the kernel ended in the middle of an execution, and with which exit code; why
// is empty if it did not.
func kernelDied(o protocol.Outcome) (code int, why string) {
	switch {
	case o.Done != nil:
		return max(o.Done.ExitCode, 1), fmt.Sprintf("the code left its interpreter in a state in which it could not go on (%s); the variables of the context are lost", o.Done.Broken)
	case o.Why != "":
		return yurt.ExecutionExitSignal + int(syscall.SIGKILL), o.Why + "; its variables are lost"
	case o.Exit != nil && o.Exit.Signal != 0:
		return yurt.ExecutionExitSignal + o.Exit.Signal, fmt.Sprintf("the interpreter was ended by signal %s; the variables of the context are lost", syscall.Signal(o.Exit.Signal))
	case o.Exit != nil:
		return o.Exit.Code, fmt.Sprintf("the interpreter exited with %d while this ran; the variables of the context are lost", o.Exit.Code)
	default:
		return 0, ""
	}
}

// judgeWait says why an execution ended that still waited for its turn. It reports whether one did.
func (c *cell) judgeWait(result *yurt.Result, o protocol.Outcome) bool {
	switch {
	case o.Overdue > 0:
		result.ExitCode = yurt.ExecutionExitTimeout
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeTimeout, Message: fmt.Sprintf("it waited for its turn for longer than %s and was ended; nothing of it ran", o.Overdue)}
	case o.Cancelled && o.Why == "":
		result.ExitCode = yurt.ExecutionExitSignal + int(syscall.SIGINT)
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeInterrupted, Message: "it was cancelled while it waited for its turn"}
	default:
		return false
	}
	return true
}

// notStarted says why no kernel could be asked.
func (c *cell) notStarted(result *yurt.Result, err error) {
	what := "the interpreter"
	if cell := *c.run.Record.Cell; warmLanguage(cell) != "" {
		what = "the handler's process"
	} else if IsFunction(cell) {
		what = cell.Command[0]
	}
	if start := run.FailedStart(err, run.Job{Argv: []string{what}}); start != nil {
		result.ExitCode, result.Error = start.ExitCode, start.Error
		return
	}
	kind := yurt.ErrorTypeSandboxLost
	switch {
	case yurt.CodeOf(err) == yurt.CodeRuntimeUnavailable, yurt.CodeOf(err) == yurt.CodeRuntimeIncompatible:
		kind = yurt.ErrorTypeRuntimeUnavailable
	case c.begunAt.IsZero():
		kind = yurt.ErrorTypeSandboxFailed
	}
	result.ExitCode = yurt.ExecutionExitSignal + int(syscall.SIGKILL)
	result.Error = &yurt.ExecutionError{Type: kind, Message: fmt.Sprintf("%s could not be used: %s", what, sandbox.Shown(err))}
}

// messageReader reads the displays and responses of an execution in a context from its log.
type messageReader struct {
	id       string // "" once the log has no message where one should be
	function bool   // only functions respond in pieces
	lines    protocol.Lines
}

// NewMessages returns the reader of the execution of that id.
func NewMessages(id string, cell yurt.ExecutionSpec) run.Messages {
	return &messageReader{id: id, function: IsFunction(cell)}
}

// Each implements [messages].
func (d *messageReader) Each(entry runlog.Entry, show func(yurt.Event) error) error {
	if d.id == "" {
		return nil
	}
	var failed error
	broken := d.lines.Take(entry.Data, func(m protocol.Message) {
		switch {
		case m.ID != d.id || failed != nil:
		case m.Display != nil:
			failed = show(yurt.Event{Type: yurt.EventDisplay, At: entry.At, Display: m.Display})
		case len(m.Response) > 0 && d.function:
			failed = show(yurt.Event{Type: yurt.EventResponse, At: entry.At, Data: m.Response})
		}
	})
	if broken != nil {
		d.id = "" // its result says so
	}
	return failed
}

// Submit puts a recorded execution into the queue of its context.
func (e *Engine) Submit(s *Sandbox, r *run.Run) error {
	return e.submitAgain(s, newCell(r))
}
