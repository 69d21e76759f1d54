package nodetest

import (
	"context"

	"github.com/yurtrun/yurt"
)

// wait carries out the words that wait. ok is false when the sandbox ended meanwhile.
func (r *run) wait(s *sandbox, release <-chan struct{}, result *yurt.Result, word string) (waits, ok bool) {
	var stdin chan string
	var signals chan yurt.Signal
	switch word {
	case "block":
	case "read":
		stdin, release = r.stdin, nil
	case "trap":
		signals, release = r.signals, nil
	default:
		return false, true
	}
	select {
	case <-release:
	case text := <-stdin:
		r.write(result, yurt.EventStdout, text)
	case signal := <-signals:
		r.write(result, yurt.EventStdout, signal.String())
	case <-s.gone:
		result.ExitCode = yurt.ExecutionExitSignal + 9
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeSandboxLost, Message: "the sandbox ended"}
		return true, false
	}
	return true, true
}

// WriteStdin implements contract.Node. The end of stdin reads as "EOF".
func (n *Node) WriteStdin(ctx context.Context, sandboxID, id string, data []byte, eof bool) error {
	text := string(data)
	if eof {
		text += "EOF"
	}
	r, err := n.findRun(sandboxID, id)
	if err != nil {
		return err
	}
	return deliver(ctx, r, r.stdin, text)
}

// SignalExecution implements contract.Node.
func (n *Node) SignalExecution(ctx context.Context, sandboxID, id string, signal yurt.Signal) error {
	r, err := n.findRun(sandboxID, id)
	if err != nil {
		return err
	}
	return deliver(ctx, r, r.signals, signal)
}

// deliver hands a value to the word that waits for it.
func deliver[T any](ctx context.Context, r *run, to chan<- T, value T) error {
	select {
	case to <- value:
		return nil
	case <-r.done:
		return yurt.Errorf(yurt.CodeExecutionEnded, "the execution has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ResizeExecution implements contract.Node: the new size is written to stdout.
func (n *Node) ResizeExecution(_ context.Context, sandboxID, id string, size yurt.TerminalSize) error {
	r, err := n.findRun(sandboxID, id)
	if err != nil {
		return err
	}
	if size.Cols == 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "tty", "no columns")
	}
	r.emit(yurt.Event{Type: yurt.EventStdout, Data: []byte("resized")})
	return nil
}
