package nodetest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

type run struct {
	mu     sync.Mutex
	events []yurt.Event
	more   chan struct{} // closed and replaced when there is another event
	done   chan struct{}
	result *yurt.Result

	stdin   chan string
	signals chan yurt.Signal
}

func (n *Node) findRun(sandboxID, id string) (*run, error) {
	s, err := n.find(sandboxID)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if r, ok := s.runs[id]; ok {
		return r, nil
	}
	return nil, yurt.Errorf(yurt.CodeExecutionNotFound, "this node knows no execution %s", id)
}

// RunExecution implements contract.Node.
func (n *Node) RunExecution(_ context.Context, sandboxID string, spec yurt.ExecutionSpec) (func(context.Context) (*yurt.Result, error), error) {
	if err := n.failure("RunExecution"); err != nil {
		return nil, err
	}
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	s, err := n.find(sandboxID)
	if err != nil {
		return nil, err
	}
	r := &run{more: make(chan struct{}), done: make(chan struct{}), stdin: make(chan string), signals: make(chan yurt.Signal)}
	n.mu.Lock()
	s.runs[spec.ID] = r
	release := n.release
	n.mu.Unlock()
	go r.execute(s, spec, release)
	return func(ctx context.Context) (*yurt.Result, error) { return n.AwaitExecution(ctx, sandboxID, spec.ID) }, nil
}

func (r *run) emit(e yurt.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Seq, e.At = uint64(len(r.events)+1), time.Now().UTC()
	r.events = append(r.events, e)
	close(r.more)
	r.more = make(chan struct{})
}

// execute follows the script to its end.
func (r *run) execute(s *sandbox, spec yurt.ExecutionSpec, release <-chan struct{}) {
	result := &yurt.Result{StartedAt: time.Now().UTC(), Artifacts: []yurt.Artifact{}}
	r.emit(yurt.Event{Type: yurt.EventStarted})
	script := spec.Code
	if spec.Kind == yurt.KindCommand {
		script = spec.Command[len(spec.Command)-1]
	}
	if spec.Kind == yurt.KindHandler {
		result.Result = spec.Event
	}
	for words := strings.Fields(script); len(words) > 0; {
		if waits, ok := r.wait(s, release, result, words[0]); waits {
			if !ok {
				break
			}
			words = words[1:]
			continue
		}
		words = words[r.step(s, spec, result, words[0], append(words[1:], "")[0]):]
	}
	result.EndedAt = time.Now().UTC()
	result.Metrics.DurationMS = float64(result.EndedAt.Sub(result.StartedAt)) / float64(time.Millisecond)
	result.Stdout = strings.ToValidUTF8(result.Stdout, "\ufffd")
	result.Outline = r.outline(result)
	r.emit(yurt.Event{Type: yurt.EventEnded, Result: result})
	r.result = result
	close(r.done)
}

func (r *run) outline(result *yurt.Result) yurt.Outline {
	r.mu.Lock()
	defer r.mu.Unlock()
	var builder yurt.OutlineBuilder
	for _, e := range r.events {
		builder.Add(e)
	}
	return builder.Outline(result)
}

// step carries out a word and returns how many words it consumed.
func (r *run) step(s *sandbox, spec yurt.ExecutionSpec, result *yurt.Result, word, argument string) int {
	switch word {
	case "echo":
		r.write(result, yurt.EventStdout, argument+"\n")
	case "warn":
		r.write(result, yurt.EventStderr, argument+"\n")
	case "env":
		r.write(result, yurt.EventStdout, s.spec.Env[argument]+spec.Env[argument]+"\n")
	case "exit":
		result.ExitCode, _ = strconv.Atoi(argument)
	case "loop":
		ms, _ := strconv.Atoi(argument)
		time.Sleep(min(time.Duration(ms)*time.Millisecond, time.Second))
	case "raw":
		r.write(result, yurt.EventStdout, "\xff\x00")
		return 1
	case "raise":
		result.ExitCode = 1
		result.Error = &yurt.ExecutionError{Type: "ValueError", Message: "raised", Stacktrace: []string{"line 1"}}
		return 1
	case "oom":
		result.ExitCode = 137
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeOutOfMemory, Message: "out of memory"}
		return 1
	default:
		r.write(result, yurt.EventStdout, word)
		return 1
	}
	if argument == "" {
		return 1
	}
	return 2
}

func (r *run) write(result *yurt.Result, stream yurt.EventType, text string) {
	if stream == yurt.EventStdout {
		result.Stdout += text
		result.Metrics.StdoutBytes += int64(len(text))
	} else {
		result.Stderr += text
		result.Metrics.StderrBytes += int64(len(text))
	}
	r.emit(yurt.Event{Type: stream, Data: []byte(text)})
}

// WatchExecution implements contract.Node.
func (n *Node) WatchExecution(ctx context.Context, sandboxID, id string, after uint64, each func(yurt.Event) error) error {
	s, err := n.find(sandboxID)
	if err != nil {
		return err
	}
	r, err := n.findRun(sandboxID, id)
	if err != nil {
		return err
	}
	for {
		r.mu.Lock()
		var events []yurt.Event
		if after < uint64(len(r.events)) {
			events = slices.Clone(r.events[after:])
		}
		more := r.more
		r.mu.Unlock()
		for _, e := range events {
			if err := each(e); err != nil {
				return err
			}
			if after = e.Seq; e.Type == yurt.EventEnded {
				return nil
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-more:
		case <-r.done:
			if after >= uint64(len(r.events)) {
				return nil
			}
		case <-s.gone:
			<-r.done
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// AwaitExecution implements contract.Node.
func (n *Node) AwaitExecution(ctx context.Context, sandboxID, id string) (*yurt.Result, error) {
	if err := n.failure("AwaitExecution"); err != nil {
		return nil, err
	}
	r, err := n.findRun(sandboxID, id)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.done:
		return r.result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ForgetExecution implements contract.Node.
func (n *Node) ForgetExecution(_ context.Context, sandboxID, id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.sandboxes[sandboxID]; ok {
		delete(s.runs, id)
		n.forgotten = append(n.forgotten, id)
	}
	return nil
}
