package controller_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
)

// losing is a node at which every call loses a race: the session has been ended, and its
// sandbox is half gone, when the call comes.
type losing struct {
	contract.Node
	*loss
}

// loss is how calls lose, at every node of one test.
type loss struct {
	mu  sync.Mutex
	end func()
	err error
}

// lose ends the session, once, and returns the error that a node has for a dying sandbox.
func (l *loss) lose() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end == nil {
		return nil
	}
	l.end()
	l.end = nil
	return l.err
}

func (n *losing) PauseSandbox(ctx context.Context, id string) error {
	if err := n.lose(); err != nil {
		return err
	}
	return n.Node.PauseSandbox(ctx, id)
}

func (n *losing) RunExecution(ctx context.Context, id string, spec yurt.ExecutionSpec) (func(context.Context) (*yurt.Result, error), error) {
	if err := n.lose(); err != nil {
		return nil, err
	}
	return n.Node.RunExecution(ctx, id, spec)
}

func (n *losing) StatFile(ctx context.Context, id, path string) (yurt.FileInfo, error) {
	if err := n.lose(); err != nil {
		return yurt.FileInfo{}, err
	}
	return n.Node.StatFile(ctx, id, path)
}

func (n *losing) Contexts(ctx context.Context, id string) ([]yurt.Context, error) {
	if err := n.lose(); err != nil {
		return nil, err
	}
	return n.Node.Contexts(ctx, id)
}

// losingPlacer hands out nodes at which calls lose.
type losingPlacer struct {
	contract.Placer
	loss *loss
}

func (p losingPlacer) Node(ctx context.Context, name string) (contract.Node, error) {
	node, err := p.Placer.Node(ctx, name)
	return &losing{node, p.loss}, err
}

// TestCallsThatLoseAgainstDelete: the calls report that the session has ended, whichever error its node returns for
// the sandbox that goes away meanwhile.
func TestCallsThatLoseAgainstDelete(t *testing.T) {
	loss := &loss{}
	w := testWorld(t, func(c *controller.Config) { c.Placer = losingPlacer{c.Placer, loss} })
	calls := map[string]func(id string) error{
		"execute": func(id string) error {
			_, err := w.Execute(t.Context(), id, execution.Request{Command: []string{"true"}})
			return err
		},
		"pause":    func(id string) error { _, err := w.PauseSession(t.Context(), id); return err },
		"files":    func(id string) error { _, err := w.StatFile(t.Context(), id, "a"); return err },
		"contexts": func(id string) error { _, err := w.Contexts(t.Context(), id); return err },
	}
	for name, call := range calls {
		for _, code := range []yurt.Code{yurt.CodeSandboxNotFound, yurt.CodeSandboxFailed, yurt.CodeInternal} {
			s := w.create(yurt.ModePersistent)
			loss.mu.Lock()
			loss.err = yurt.Errorf(code, "sandbox %s is being destroyed", s.SandboxID)
			loss.end = func() {
				if _, err := w.EndSession(context.Background(), s.ID); err != nil {
					t.Errorf("ending the session: %v", err)
				}
			}
			loss.mu.Unlock()
			err := call(s.ID)
			if yurt.CodeOf(err) != yurt.CodeSessionEnded || !strings.Contains(err.Error(), "ended by its user") {
				t.Errorf("%s, which its node refuses with %s, is told %v; want %s", name, code, err, yurt.CodeSessionEnded)
			}
		}
	}
}

// TestNodeErrorsOfLivingSessionsStay: a node's error about a living session is passed on unchanged.
func TestNodeErrorsOfLivingSessionsStay(t *testing.T) {
	loss := &loss{end: func() {}, err: yurt.Errorf(yurt.CodeSandboxFailed, "out of order")}
	w := testWorld(t, func(c *controller.Config) { c.Placer = losingPlacer{c.Placer, loss} })
	_, err := w.StatFile(t.Context(), w.create("").ID, "a")
	wantCode(t, err, yurt.CodeSandboxFailed)
}
