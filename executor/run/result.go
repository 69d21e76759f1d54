package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/output"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/plugins"
)

// End keeps the result, and wakes the callers that wait for it.
func (r *Run) End(result *yurt.Result) {
	// The end is as long after the start as time has passed: the clock may have been set.
	took := max(0, time.Since(r.StartedAt))
	result.StartedAt, result.EndedAt = r.StartedAt, r.StartedAt.Add(took)
	result.Metrics.DurationMS = sandbox.Millis(took)
	if r.Phases != nil {
		r.Phases.Trace("run", r.StartedAt)
		result.Metrics.Phases = r.Phases.Done()
	}
	if result.Artifacts == nil {
		result.Artifacts = []yurt.Artifact{}
	}
	if result.Error != nil && result.Error.Stacktrace == nil {
		result.Error.Stacktrace = []string{}
	}
	r.hintInstaller(result) // before outline reads the log, since the hint is in it
	result.Outline = r.outline(result)
	// The log lacks the entry only if it was closed: waiting callers get the result all the same, watchers end with
	// an error.
	r.result = result
	if data, err := json.Marshal(outputApart(result)); err == nil {
		switch {
		case r.Log.Append(runlog.Entry{Kind: runlog.Ended, At: result.EndedAt, Data: data}) != nil:
			r.Log.Close()
		case len(data) > resultInMemory:
			r.result = nil // it is read again from the log
		}
	}
	r.Sandbox.node.Executions.Add(-1)
	close(r.done)
}

// resultInMemory is how large a result may be, as JSON without its output, that is held in memory once it is in its log.
const resultInMemory = 32 << 10

// outputApart returns the form of a result in the log, where the output is in other entries.
func outputApart(result *yurt.Result) yurt.KeptResult {
	apart := result.Kept()
	rest := *result
	rest.Stdout, rest.Stderr = "", ""
	apart.Result = &rest
	apart.Apart = &[2]int64{result.OutputBytes(yurt.EventStdout), result.OutputBytes(yurt.EventStderr)}
	return apart
}

// outcome returns the result of a run that has ended.
func (r *Run) outcome() (*yurt.Result, error) {
	if r.result != nil {
		return r.result, nil
	}
	last, err := r.Log.End()
	if err != nil {
		return nil, err
	}
	return decodeResult(r.Log, last.Data)
}

// decodeResult reads the data of an ended entry.
func decodeResult(log *runlog.Log, data []byte) (*yurt.Result, error) {
	var kept yurt.KeptResult
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("reading a result: %w", err)
	}
	result := kept.Take()
	if result.Output == nil { // as earlier versions kept all results
		return result, nil
	}
	result.Output.Open = output.Opener(log)
	if result.Output.Stdout+result.Output.Stderr > yurt.InlineOutput {
		return result, nil
	}
	return result.Whole(context.Background())
}

// assemble makes the result of a run that ended, or whose sandbox was lost.
func (r *Run) assemble(exit *initd.Exit, lost error) *yurt.Result {
	result, control := r.ReadOutput()
	usage, err := r.usage.Usage()
	if err == nil {
		result.Metrics.CPUMS, result.Metrics.MemoryPeakBytes = sandbox.Millis(usage.CPU), usage.MemoryPeak
		r.Sandbox.Shortage.Note(r.Record.ID, usage.OOMKills)
	}
	if exit == nil {
		result.ExitCode = yurt.ExecutionExitSignal + int(syscall.SIGKILL)
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeSandboxLost, Message: "the sandbox ended while this ran: " + sandbox.Shown(lost)}
		switch {
		case r.timedOut.Load():
			r.judgeTimeout(result)
		case errors.Is(lost, initd.ErrSilent):
			result.Error.Message = "it was killed, and its sandbox did not say how it ended"
		}
		return result
	}
	result.Metrics.StdoutBytes, result.Metrics.StderrBytes = exit.Bytes[0], exit.Bytes[1]
	if !r.Record.Unlimited() {
		result.Truncated = yurt.Truncated{Stdout: exit.Bytes[0] > int64(r.Record.Limit), Stderr: exit.Bytes[1] > int64(r.Record.Limit)}
	}
	r.NoteCut(result)
	result.ExitCode = exit.Code
	if exit.Signal != 0 {
		result.ExitCode = yurt.ExecutionExitSignal + exit.Signal
	}
	r.judge(result, exit, control, usage)
	return result
}

// NoteCut says of which streams the output was dropped since the disk was full.
func (r *Run) NoteCut(result *yurt.Result) {
	result.Truncated.Stdout = result.Truncated.Stdout || r.Log.Cut(runlog.Stdout)
	result.Truncated.Stderr = result.Truncated.Stderr || r.Log.Cut(runlog.Stderr)
}

// ReadOutput returns a result with the output that the log has, and the bytes that were written to the control descriptor.
func (r *Run) ReadOutput() (*yurt.Result, []byte) { return output.Gather(r.readLog, r.Log) }

// Assembling waits until there is memory for the result that is made of the log. The caller holds that memory until it calls done.
func (r *Run) Assembling() (done func()) {
	done, err := r.Sandbox.node.Results.Take(context.Background(), resultCopies*r.Log.Beside())
	if err != nil {
		return func() {}
	}
	return done
}

// resultCopies is how many copies of the text of a result are in memory while it is assembled: as it was
// written, decoded, and encoded again.
const resultCopies = 4

// readLog calls each with all that is in the log by now.
func (r *Run) readLog(each func(runlog.Entry) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // it reads to the end without waiting, and stops there
	err := r.Log.Follow(ctx, each)
	if errors.Is(err, context.Canceled) || errors.Is(err, runlog.ErrClosed) {
		return nil
	}
	return err
}

// judge finds the error of the result, if any: Yurt's own reasons first, then the report
// of the language, then the bare exit status.
func (r *Run) judge(result *yurt.Result, exit *initd.Exit, control []byte, usage broker.Usage) {
	failed := exit.Code != 0
	switch {
	case r.timedOut.Load():
		r.judgeTimeout(result)
	case usage.OOMKills > 0 && failed:
		result.ExitCode = yurt.ExecutionExitSignal + int(syscall.SIGKILL)
		result.Error = &yurt.ExecutionError{
			Type:    yurt.ErrorTypeOutOfMemory,
			Message: r.Sandbox.Shortage.Message(r.Sandbox.Record.Spec.Resources.Memory),
		}
	case r.judgeSteps(result, control):
	case r.Record.Format == plugins.ResultEnvelope && exit.Bytes[2] > yurt.MaxResultBytes+envelopeRoom:
		result.Error = &yurt.ExecutionError{
			Type:    yurt.ErrorTypeResultTooLarge,
			Message: fmt.Sprintf("the result exceeds %s; write it to a file in the workspace instead", yurt.Size(yurt.MaxResultBytes)),
		}
	case r.Record.Format == plugins.ResultEnvelope && len(control) > 0:
		r.judgeEnvelope(result, control)
	case exit.Signal != 0:
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeSignaled, Message: "it was ended by signal " + syscall.Signal(exit.Signal).String()}
	case r.Record.Kind == yurt.KindHandler:
		result.Error = &yurt.ExecutionError{
			Type:    yurt.ErrorTypeNonZeroExit,
			Message: fmt.Sprintf("the process exited with %d before the handler returned", exit.Code),
		}
	}
	if failed {
		r.noteFailure(result, exit)
	}
	if result.Error != nil && result.ExitCode == 0 {
		result.ExitCode = 1
	}
}

func (r *Run) judgeTimeout(result *yurt.Result) {
	result.ExitCode = yurt.ExecutionExitTimeout
	result.Error = &yurt.ExecutionError{
		Type:    yurt.ErrorTypeTimeout,
		Message: fmt.Sprintf("it ran longer than its timeout of %s and was ended with all its processes; output until then is kept", r.Record.Timeout),
	}
}

// judgeEnvelope takes the result from the envelope of the language's harness. User code can
// write to the same descriptor, so the envelope is untrusted.
func (r *Run) judgeEnvelope(result *yurt.Result, control []byte) {
	outcome, err := plugins.DecodeEnvelope(control)
	if err != nil {
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeNotSerializable, Message: fmt.Sprintf("the result could not be read: %v", err)}
		return
	}
	r.TakeOutcome(result, outcome)
}

// TakeOutcome puts the outcome in an envelope into the result. The value of an expression counts
// like output: a value above the limit of output is left out.
func (r *Run) TakeOutcome(result *yurt.Result, outcome plugins.Outcome) {
	result.Result, result.Error, result.Handler = outcome.Result, outcome.Error, outcome.Handler
	result.Truncated.Result = outcome.Cut
	if r.Record.Kind == yurt.KindCode && outcome.Handler == "" && int64(len(outcome.Result)) > int64(r.Record.Limit) {
		result.Result, result.Truncated.Result = nil, true
	}
}
