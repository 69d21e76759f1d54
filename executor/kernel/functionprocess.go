package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/initd/steps"
	"github.com/yurtrun/yurt/executor/kernel/internal/protocol"
	"github.com/yurtrun/yurt/executor/lambda"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
)

const (
	// drainTimeout bounds how long output of a function that has ended is waited for: some
	// other process in the sandbox may have got hold of the pipe.
	drainTimeout = time.Second
	// pieceSize is how much output of a function is read at once, in bytes.
	pieceSize = 32 << 10
	// markTimeout bounds how long a pipe, which is read all the time, may take to have room for a mark.
	markTimeout = 2 * time.Second
)

// errorFunctionExit is the type of error that Lambda gives where a function's process ends.
const errorFunctionExit = "Runtime.ExitError"

// errFunctionSignal says that functions know no interrupt: they are killed.
var errFunctionSignal = errors.New("a function cannot be interrupted")

// insideListener is a listener in a sandbox.
type insideListener struct{ net.Listener }

// functionProcess is the process of a Lambda function, which asks for its invocations over HTTP. It looks like a
// kernel: its answers to the Runtime API become a kernel's messages, and the executor writes the marks of a kernel
// into its pipes. So all output before an answer belongs to that answer's invocation.
//
// Its pipes and connections end with this executor, and so does the process: the next executor kills the processes
// that it finds.
type functionProcess struct {
	*kernelProcess
	plan     run.PlanRecord
	api      *lambda.Server
	listener *insideListener
	pipes    [2]struct{ out, marks *os.File }
	chunks   chan initd.Chunk
	done     chan struct{} // closed when no more chunks are taken
	over     chan struct{} // closed when exit and err are set
	finish   sync.Once
	seq      uint64
	exit     *initd.Exit
	err      error
}

var _ protocol.Process = (*functionProcess)(nil)

func newFunctionProcess(p *kernelProcess) *functionProcess {
	f := &functionProcess{kernelProcess: p, chunks: make(chan initd.Chunk), done: make(chan struct{}), over: make(chan struct{})}
	f.api = lambda.New(lambda.Told{Answer: f.answered, Piece: f.streamed})
	return f
}

// serve begins to serve and to read; it ends with the process, or with the executor.
func (p *functionProcess) serve() {
	p.follow()
	p.engine.goes(func() {
		if err := p.api.Serve(p.listener); err != nil && p.engine.ctx.Err() == nil {
			p.engine.logger.Warn("a function has no runtime API any more", "sandbox", p.sandbox.ID(), "error", err)
			p.Kill()
		}
	})
	p.engine.goes(p.watch)
}

// watch reads the output of the process, and waits for its end.
func (p *functionProcess) watch() {
	var reading sync.WaitGroup
	for i := range p.pipes {
		reading.Go(func() { p.read(initd.Stream(i+1), p.pipes[i].out) })
	}
	control, exit, err := p.awaitEnd()
	if p.engine.ctx.Err() == nil {
		p.Kill() // ends its children
		p.tellFailedStep(control)
	}
	p.stopServing()
	for _, pipe := range p.pipes {
		pipe.marks.Close()
		if err := pipe.out.SetReadDeadline(time.Now().Add(drainTimeout)); err != nil {
			pipe.out.Close()
		}
	}
	reading.Wait()
	p.closePipes()
	p.exit, p.err = exit, err
	close(p.over)
}

// awaitEnd returns how the process ended, and the beginning of its output on descriptor 3, where a failed compile step
// reports.
func (p *functionProcess) awaitEnd() (control []byte, exit *initd.Exit, err error) {
	for {
		chunk, exit, err := p.out.Next()
		if exit != nil || err != nil {
			return control, exit, err
		}
		control = append(control, chunk.Data[:min(len(chunk.Data), steps.MaxReport+1-len(control))]...)
		if err := p.out.Ack(chunk.Seq); err != nil {
			return control, nil, err
		}
	}
}

// tellFailedStep answers in place of a function that could not be compiled.
func (p *functionProcess) tellFailedStep(control []byte) {
	failed, failure := p.plan.FailedStep(p.id, control)
	if failed == nil {
		return
	}
	if found := p.engine.runs.Explain(p.id, failure); found != nil {
		failed = found
	}
	p.api.Fail(failed)
}

// stopServing lets go of the function's connections. An answer that is being passed on
// is taken or dropped.
func (p *functionProcess) stopServing() {
	p.finish.Do(func() {
		close(p.done)
		_ = p.api.Close() // the process is gone: no client needs the error
		if p.listener != nil {
			p.listener.Close()
		}
	})
}

func (p *functionProcess) read(stream initd.Stream, from *os.File) {
	for {
		piece := make([]byte, pieceSize)
		n, err := from.Read(piece)
		if n > 0 {
			select {
			case p.chunks <- initd.Chunk{Stream: stream, Data: piece[:n]}:
			case <-p.engine.ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answered passes an answer on, after everything that was written before it.
func (p *functionProcess) answered(answer lambda.Answer) {
	line, err := functionMessage(answer)
	if err != nil {
		p.engine.logger.Warn("an answer of a function is lost", "sandbox", p.sandbox.ID(), "error", err)
		return
	}
	for _, pipe := range p.pipes {
		// Without its mark the answer is taken all the same, a moment later.
		if pipe.marks.SetWriteDeadline(time.Now().Add(markTimeout)) == nil {
			_, _ = pipe.marks.WriteString(protocol.Mark(answer.ID))
		}
	}
	p.say(line)
}

// streamed passes on a piece of a response, as it comes.
func (p *functionProcess) streamed(piece lambda.Piece) {
	line, err := json.Marshal(struct {
		ID       string `json:"id"`
		Response []byte `json:"response"`
	}{piece.ID, piece.Data})
	if err != nil {
		p.engine.logger.Warn("a piece of a function's response is lost", "sandbox", p.sandbox.ID(), "error", err)
		return
	}
	p.say(append(line, '\n'))
}

// say passes on a message, as a kernel would write it.
func (p *functionProcess) say(line []byte) {
	select {
	case p.chunks <- initd.Chunk{Stream: initd.Control, Data: line}:
	case <-p.done:
	}
}

// functionMessage is an answer as a kernel would write it.
func functionMessage(answer lambda.Answer) ([]byte, error) {
	type envelope struct {
		Result json.RawMessage      `json:"result,omitempty"`
		Error  *yurt.ExecutionError `json:"error,omitempty"`
	}
	type outcome struct {
		ExitCode int      `json:"exit_code"`
		Envelope envelope `json:"envelope"`
		Exiting  bool     `json:"exiting"`
	}
	message := struct {
		ID   string  `json:"id"`
		Done outcome `json:"done"`
	}{answer.ID, outcome{Envelope: envelope{answer.Result, answer.Error}, Exiting: answer.Init}}
	if answer.Error != nil {
		message.Done.ExitCode = 1
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line) // ends the line
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(message)
	return line.Bytes(), err
}

// Send implements protocol.Process.
func (p *functionProcess) Send(request protocol.Request) error {
	spec := request.Function
	if spec == nil {
		return errors.New("a function was asked to run code")
	}
	return p.api.Invoke(lambda.Invocation{
		ID: spec.ID, Event: spec.Event, Deadline: time.Now().Add(spec.Timeout.Std()),
		ARN: functionARN(*spec), TraceID: traceID(*spec),
		ClientContext: contextObject(*spec, "client_context"), Identity: contextObject(*spec, "identity"),
	})
}

// Next implements protocol.Process.
func (p *functionProcess) Next() (initd.Chunk, *initd.Exit, error) {
	select {
	case chunk := <-p.chunks:
		p.seq++
		chunk.Seq = p.seq
		return chunk, nil, nil
	case <-p.over:
	}
	if p.engine.ctx.Err() != nil && p.exit == nil {
		return initd.Chunk{}, nil, protocol.ErrClosing
	}
	return initd.Chunk{}, p.exit, p.err
}

// Unread implements protocol.Process. An invocation may have reached the function's client.
func (p *functionProcess) Unread() bool { return false }

// Ack implements protocol.Process. A pipe keeps no data that was read.
func (p *functionProcess) Ack(uint64) error { return nil }

// Signal implements protocol.Process. A function that shall stop is killed, as Lambda does:
// its client would take no other signal for more than the end of its process.
func (p *functionProcess) Signal(signal syscall.Signal) error {
	if signal == syscall.SIGINT {
		return errFunctionSignal
	}
	return p.kernelProcess.Signal(signal)
}

// Close implements protocol.Process.
func (p *functionProcess) Close() {
	p.stopServing()
	p.closePipes()
	p.kernelProcess.Close()
	if p.plan.Compiles > 0 {
		_ = p.sandbox.Temp.RemoveAll(sandbox.OutPrefix + p.id) // remaining files go with the sandbox
	}
}

func (p *functionProcess) closePipes() {
	for _, pipe := range p.pipes {
		for _, file := range []*os.File{pipe.out, pipe.marks} {
			if file != nil {
				file.Close()
			}
		}
	}
}

// judgeFunction records, in Lambda's words, the failure of an invocation without an answer. It reports whether the
// invocation had none.
func (c *cell) judgeFunction(result *yurt.Result, o protocol.Outcome, oomKills int64) bool {
	failed := func(code int, kind, format string, args ...any) bool {
		result.ExitCode = code
		result.Error = &yurt.ExecutionError{Type: kind, Message: fmt.Sprintf(format, args...), Stacktrace: []string{}}
		return true
	}
	switch {
	case o.Cancelled || o.Done != nil && !o.TimedOut:
		return false
	case o.TimedOut:
		return failed(yurt.ExecutionExitTimeout, yurt.ErrorTypeTimeout, "it ran longer than its timeout of %s and was ended with its process; the next invocation starts another", c.run.Record.Timeout)
	case oomKills > 0:
		return false
	case o.Why != "":
		return failed(yurt.ExecutionExitSignal+int(syscall.SIGKILL), errorFunctionExit, "the function's process was ended: %s; the next invocation starts another", o.Why)
	case o.Exit != nil && o.Exit.Signal != 0:
		return failed(yurt.ExecutionExitSignal+o.Exit.Signal, errorFunctionExit, "RequestId: %s Error: Runtime exited with error: signal: %s", c.ID(), syscall.Signal(o.Exit.Signal))
	case o.Exit != nil && o.Exit.Code != 0:
		return failed(o.Exit.Code, errorFunctionExit, "RequestId: %s Error: Runtime exited with error: exit status %d", c.ID(), o.Exit.Code)
	case o.Exit != nil:
		return failed(1, errorFunctionExit, "RequestId: %s Error: Runtime exited without providing a reason", c.ID())
	}
	return false
}
