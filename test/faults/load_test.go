package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// load is the work of callers while the executor is killed under them. Each acknowledged result has
// to stay so.
type load struct {
	t    *testing.T
	node *daemon

	mu        sync.Mutex
	tried     map[string]bool // sandboxes that were asked for
	destroyed map[string]bool // for good
	done      map[string]int  // how often each thing came to its end
}

func newLoad(t *testing.T, node *daemon) *load {
	return &load{t: t, node: node, tried: map[string]bool{}, destroyed: map[string]bool{}, done: map[string]int{}}
}

func (l *load) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[what]++
}

// gone reports whether the call failed for want of an executor, which is the one
// reason that it may have.
func (l *load) gone(what string, err error) bool {
	if err == nil {
		return false
	}
	if yurt.CodeOf(err) != yurt.CodeUnavailable {
		l.t.Errorf("%s: %s: %v", what, yurt.CodeOf(err), err)
	}
	time.Sleep(5 * time.Millisecond)
	return true
}

// again does it until there is an executor to do it.
func (l *load) again(what string, do func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for ctx.Err() == nil {
		if err := do(ctx); !l.gone(what, err) {
			return err == nil
		}
	}
	l.t.Errorf("%s: not within %s", what, patience)
	return false
}

func (l *load) create() (yurt.Sandbox, bool) {
	spec := testutil.Spec()
	spec.Resources.Memory, spec.Resources.Disk = 64<<20, 8<<20
	l.mu.Lock()
	l.tried[spec.ID] = true
	l.mu.Unlock()
	s, err := l.node.CreateSandbox(context.Background(), spec)
	return s, !l.gone("creating", err)
}

// mustCreate makes a sandbox before anybody kills anything.
func (l *load) mustCreate() yurt.Sandbox {
	l.t.Helper()
	s, ok := l.create()
	if !ok {
		l.t.Fatal("there is no sandbox to begin with")
	}
	return s
}

// churn makes sandboxes, uses and destroys them.
func (l *load) churn(stop context.Context) {
	for stop.Err() == nil {
		s, ok := l.create()
		if !ok {
			continue
		}
		if out, ok := l.run(s.ID, "echo "+s.ID); ok && out != s.ID+"\n" {
			l.t.Errorf("in sandbox %s, its id is %q", s.ID, out)
		}
		l.destroy(s.ID)
		l.count("sandboxes")
	}
}

func (l *load) destroy(id string) {
	if l.again("destroying", func(ctx context.Context) error { return l.node.DestroySandbox(ctx, id) }) {
		l.mu.Lock()
		l.destroyed[id] = true
		l.mu.Unlock()
	}
}

// run runs a shell line, unless it cannot be started. Started lines end.
func (l *load) run(sandbox, line string) (stdout string, ok bool) {
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: []string{"/bin/sh", "-c", line},
		Timeout: yurt.Duration(10 * time.Minute), OutputLimit: 1 << 20,
	}
	if l.gone("starting", l.node.StartExecution(context.Background(), sandbox, spec)) {
		return "", false
	}
	result, ok := l.result(sandbox, spec.ID)
	if !ok {
		return "", false
	}
	if result.Error != nil || result.ExitCode != 0 {
		l.t.Errorf("%q ended with %d, %+v", line, result.ExitCode, result.Error)
	}
	return result.Stdout, true
}

// result waits for the result of an execution, and has it forgotten.
func (l *load) result(sandbox, execution string) (result *yurt.Result, ok bool) {
	ok = l.again("waiting", func(ctx context.Context) (err error) {
		if result, err = l.node.AwaitExecution(ctx, sandbox, execution); err == nil {
			result, err = result.Whole(ctx)
		}
		return err
	})
	if ok {
		l.again("forgetting", func(ctx context.Context) error { return l.node.ForgetExecution(ctx, sandbox, execution) })
	}
	return result, ok
}

// lines is how many lines an execution of stream prints, over about a second.
const lines = 200

// stream has numbered lines printed, and watches them come.
func (l *load) stream(stop context.Context, sandbox string) {
	var want strings.Builder
	for i := range lines {
		fmt.Fprintln(&want, "line", i)
	}
	for stop.Err() == nil {
		spec := yurt.ExecutionSpec{
			ID: yurt.NewExecutionID(), Kind: yurt.KindCommand,
			Command: []string{"/bin/sh", "-c", fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); [ $((i%%20)) != 0 ] || sleep 0.1; done`, lines)},
			Timeout: yurt.Duration(10 * time.Minute), OutputLimit: 1 << 20,
		}
		if l.gone("starting", l.node.StartExecution(context.Background(), sandbox, spec)) {
			continue
		}
		l.watch(sandbox, spec.ID, want.String())
	}
}

// watch wants every event of an execution once and in order, and the same in its result.
func (l *load) watch(sandbox, execution, want string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var seen strings.Builder
	var last yurt.Event
	err := l.node.WatchExecution(ctx, sandbox, execution, 0, func(e yurt.Event) error {
		if e.Seq != last.Seq+1 {
			l.t.Errorf("event %d came after %d", e.Seq, last.Seq)
		}
		last = e
		seen.Write(e.Data)
		return nil
	})
	if err != nil {
		l.t.Errorf("watching: %v", err)
		return
	}
	if last.Type != yurt.EventEnded || last.Result.Error != nil || last.Result.ExitCode != 0 {
		l.t.Errorf("the last event is %+v", last)
	} else if seen.String() != want || last.Result.Stdout != want {
		l.t.Errorf("output was lost or doubled: %d bytes were watched and %d are in the result, want %d", seen.Len(), len(last.Result.Stdout), len(want))
	}
	l.count("streams")
	l.again("forgetting", func(ctx context.Context) error { return l.node.ForgetExecution(ctx, sandbox, execution) })
}

// write writes a file over and over. It is always whole, and of the last version that
// was said to be written, or a later one.
func (l *load) write(stop context.Context, sandbox string) {
	said := 0
	for version := 1; stop.Err() == nil; version++ {
		content := bytes.Repeat([]byte{byte(version)}, 300<<10)
		if _, err := l.node.WriteFile(context.Background(), sandbox, "file", bytes.NewReader(content), yurt.WriteOptions{}); !l.gone("writing", err) {
			said = version
			l.count("files")
		}
		if said == 0 {
			continue
		}
		var got []byte
		l.again("reading", func(ctx context.Context) error {
			file, _, err := l.node.ReadFile(ctx, sandbox, "file", yurt.Span{})
			if err != nil {
				return err
			}
			defer file.Close()
			got, err = io.ReadAll(file)
			return err
		})
		var ahead byte // writes that are newer than the last acknowledged one; versions wrap around
		if len(got) > 0 {
			ahead = got[0] - byte(said)
		}
		if len(got) != len(content) || bytes.Count(got, got[:1]) != len(got) || int(ahead) > version-said {
			l.t.Errorf("after version %d was written and %d begun, the file has %d bytes and begins with %v", said, version, len(got), got[:min(1, len(got))])
			return
		}
		said += int(ahead) // a version that was read stays too
	}
}
