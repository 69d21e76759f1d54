package run

import (
	"context"
	"path"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/initd/steps"
	"github.com/yurtrun/yurt/executor/output"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/plugins"
)

// FailedStep decodes the report that the process id wrote to descriptor 3, and returns the error of a
// compile step or of the start of the compiled program; nil if no step failed. The failure, unless nil,
// is for the runtime, which may explain more of it.
func (p PlanRecord) FailedStep(id string, control []byte) (*yurt.ExecutionError, *plugins.Failure) {
	if p.Compiles == 0 {
		return nil, nil
	}
	report, err := steps.DecodeReport(control, p.Compiles)
	switch {
	case err != nil:
		return &yurt.ExecutionError{Type: yurt.ErrorTypeCompile, Message: err.Error()}, nil
	case report == nil:
		return nil, nil
	case report.Missing != "":
		return &yurt.ExecutionError{Type: yurt.ErrorTypeCommandNotFound, Message: report.Missing}, nil
	case report.TimedOut:
		return &yurt.ExecutionError{Type: yurt.ErrorTypeTimeout, Message: "compiling took longer than it may and was ended; the code did not run"}, nil
	default:
		return plugins.CompileError(report.Output), p.newFailure(id, plugins.PhaseCompile, report.Step, report.ExitCode, report.Signal, report.Output)
	}
}

// judgeSteps reports whether a step failed before the run, and puts its error into the result.
func (r *Run) judgeSteps(result *yurt.Result, control []byte) bool {
	failed, failure := r.Record.FailedStep(r.Record.ID, control)
	if failed == nil {
		return false
	}
	result.Error = failed
	if failed.Type == yurt.ErrorTypeTimeout {
		result.ExitCode = yurt.ExecutionExitTimeout
	}
	if failure != nil {
		r.failure = failure
	}
	return true
}

// noteFailure has a failed run interpreted if its plan asked for that, unless there is
// a better explanation already.
func (r *Run) noteFailure(result *yurt.Result, exit *initd.Exit) {
	if !r.Record.Interpret || r.failure != nil || result.Error != nil && result.Error.Type != yurt.ErrorTypeSignaled {
		return
	}
	end := output.Last(context.Background(), result, yurt.EventStderr, plugins.MaxInterpretedBytes)
	r.failure = r.Record.newFailure(r.Record.ID, plugins.PhaseRun, 0, exit.Code, exit.Signal, r.Record.rewrite(lastBytes(end, plugins.MaxInterpretedBytes)))
}

// rewrite corrects places in a program's standard error, in lines into which the plan inserted text.
func (p PlanRecord) rewrite(output []byte) []byte {
	if p.Inserted == nil {
		return output
	}
	rewriter := steps.NewRewriter(nil, p.Inserted)
	return append(rewriter.Write(output), rewriter.Flush()...)
}

func (p PlanRecord) newFailure(id string, phase plugins.Phase, step, exitCode, signal int, output []byte) *plugins.Failure {
	return &plugins.Failure{
		Language: p.Language, Phase: phase, Step: step, ExitCode: exitCode, Signal: signal, Output: output,
		Root: p.Root, Entry: p.Entry, Dir: path.Join(rootfs.RunDir, id), OutDir: sandbox.OutDir(id),
	}
}

// interpret asks the language's runtime to explain a failure, and puts its answer in place of the
// error in the result. Without an answer the error stays.
func (e *Engine) interpret(r *Run, result *yurt.Result) {
	if found := e.Explain(r.Record.ID, r.failure); found != nil {
		result.Error = found
	}
}

// Explain returns the explanation of a failure by the language's runtime; nil without a failure
// or an explanation.
func (e *Engine) Explain(id string, failure *plugins.Failure) *yurt.ExecutionError {
	if failure == nil {
		return nil
	}
	found, err := e.runtimes.Interpret(e.ctx, *failure)
	if err != nil {
		e.logger.Warn("a failure could not be interpreted", "execution", id, "error", err)
		return nil
	}
	return found
}

// lastBytes returns the end of text, at most limit bytes of it and no broken character.
func lastBytes(text string, limit int) []byte {
	if len(text) > limit {
		text = text[len(text)-limit:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	return []byte(text)
}
