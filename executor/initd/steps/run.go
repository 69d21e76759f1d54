package steps

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	reportFD = 3
	// drainTime is how long the output of an ended step is still read: a background process of the step may hold the pipe open.
	drainTime = 500 * time.Millisecond
	// exitMissing is the exit code of a shell for a command that does not exist.
	exitMissing = 127
)

// Run carries out the plan at path. It returns only when that failed: the exit code
// is then that of the failed step, and the host has been told.
func Run(path string) int {
	syscall.CloseOnExec(reportFD)
	code, err := run(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "yurt:", err)
	}
	return code
}

func run(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 1, fmt.Errorf("reading the plan: %w", err)
	}
	var plan Plan
	if err := json.Unmarshal(data, &plan); err != nil {
		return 1, fmt.Errorf("reading the plan: %w", err)
	}
	for _, dir := range plan.Dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return 1, fmt.Errorf("making a directory for the compiler: %w", err)
		}
	}
	for i, step := range plan.Compile {
		if report := step.carryOut(NewRewriter(plan.Hidden, plan.Inserted)); report != nil {
			report.Step = i
			return report.exitCode(), send(*report)
		}
	}
	err = become(plan)
	return exitMissing, send(Report{Step: len(plan.Compile), ExitCode: exitMissing, Missing: err.Error()})
}

// carryOut runs the step and returns nil if it succeeded.
func (s Step) carryOut(rewriter *Rewriter) *Report {
	path, err := exec.LookPath(s.Argv[0])
	if err != nil {
		return &Report{ExitCode: exitMissing, Missing: err.Error()}
	}
	output := &head{to: os.Stderr, rewriter: rewriter}
	cmd := exec.Cmd{Path: path, Args: s.Argv, Env: s.Env, Stdout: output, Stderr: output, WaitDelay: drainTime}
	if err := cmd.Start(); err != nil {
		return &Report{ExitCode: exitMissing, Missing: err.Error()}
	}
	timedOut := false
	var ending sync.WaitGroup
	ended := make(chan struct{})
	if s.Timeout > 0 {
		ending.Go(func() {
			select {
			case <-time.After(s.Timeout):
				timedOut = cmd.Process.Kill() == nil
			case <-ended:
			}
		})
	}
	err = cmd.Wait()
	close(ended)
	ending.Wait()
	output.pass(rewriter.Flush())
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	report := &Report{ExitCode: cmd.ProcessState.ExitCode(), TimedOut: timedOut, Output: output.kept}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		report.Signal = int(status.Signal())
	}
	return report
}

// exitCode is the exit code of the execution after the failed step.
func (r Report) exitCode() int {
	if r.Signal != 0 {
		return 128 + r.Signal
	}
	return r.ExitCode
}

// become replaces this process by the plan's program; it returns only if it cannot.
func become(plan Plan) error {
	path, err := exec.LookPath(plan.Argv[0])
	if err != nil {
		return err
	}
	if plan.Control {
		if _, err := unix.FcntlInt(reportFD, unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("keeping the descriptor of the result: %w", err)
		}
	}
	return fmt.Errorf("starting %s: %w", path, syscall.Exec(path, plan.Argv, os.Environ()))
}

func send(report Report) error {
	data, err := report.Encode()
	if err != nil {
		return fmt.Errorf("telling which step failed: %w", err)
	}
	if _, err := os.NewFile(reportFD, "report").Write(data); err != nil {
		return fmt.Errorf("telling which step failed: %w", err)
	}
	return nil
}

// head passes its input on and keeps the beginning. It reports no error: a step goes on when the reader of its output
// is gone.
type head struct {
	to       io.Writer
	rewriter *Rewriter
	kept     []byte
}

// Write implements io.Writer.
func (h *head) Write(data []byte) (int, error) {
	h.pass(h.rewriter.Write(data))
	return len(data), nil
}

func (h *head) pass(data []byte) {
	h.kept = append(h.kept, data[:min(len(data), MaxOutput-len(h.kept))]...)
	_, _ = h.to.Write(data) // see above
}
