package executor

import (
	"path"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/initd/steps"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/plugins"
)

// judgeSteps says what a compile step, or the start of what was compiled, failed of. It
// reports whether one did.
func (r *run) judgeSteps(result *yurt.Result, control []byte) bool {
	if r.record.Compiles == 0 {
		return false
	}
	report, err := steps.DecodeReport(control, r.record.Compiles)
	switch {
	case err != nil:
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeCompile, Message: err.Error()}
	case report == nil:
		return false
	case report.Missing != "":
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeCommandNotFound, Message: report.Missing}
	case report.TimedOut:
		result.ExitCode = yurt.ExecutionExitTimeout
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeTimeout, Message: "compiling took longer than it may and was ended; the code did not run"}
	default:
		result.Error = plugins.CompileError(report.Output)
		r.failure = r.newFailure(plugins.PhaseCompile, report.Step, report.ExitCode, report.Signal, report.Output)
	}
	return true
}

// noteFailure has a failed run interpreted if its plan asked for that, unless there is
// a better explanation already.
func (r *run) noteFailure(result *yurt.Result, exit *initd.Exit) {
	if !r.record.Interpret || r.failure != nil || result.Error != nil && result.Error.Type != yurt.ErrorTypeSignaled {
		return
	}
	r.failure = r.newFailure(plugins.PhaseRun, 0, exit.Code, exit.Signal, lastBytes(result.Stderr, plugins.MaxInterpretedBytes))
}

func (r *run) newFailure(phase plugins.Phase, step, exitCode, signal int, output []byte) *plugins.Failure {
	return &plugins.Failure{
		Language: r.record.Language, Phase: phase, Step: step, ExitCode: exitCode, Signal: signal, Output: output,
		Root: r.record.Root, Entry: r.record.Entry, Dir: path.Join(rootfs.RunDir, r.record.ID), OutDir: outDir(r.record.ID),
	}
}

// interpret asks the language's runtime what a failure means, and lets its answer
// stand for the error in the result. Without an answer that stays as it is.
func (e *Executor) interpret(r *run, result *yurt.Result) {
	if r.failure == nil {
		return
	}
	found, err := e.runtimes.Interpret(e.ctx, *r.failure)
	switch {
	case err != nil:
		e.logger.Warn("a failure could not be interpreted", "execution", r.record.ID, "error", err)
	case found != nil:
		result.Error = found
	}
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
