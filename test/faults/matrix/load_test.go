package matrix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// patience bounds the wait for events that must happen, on machines of any speed.
const patience = 2 * time.Minute

// try is how long one request may take before its caller gives up and asks again.
const try = 30 * time.Second

// balancer hands requests to the controllers in turns, as a load balancer without health
// checks does: also to one that is dead.
type balancer struct {
	mu      sync.Mutex
	clients []*yurtclient.Client
	turn    int
}

func (b *balancer) next() *yurtclient.Client {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	return b.clients[b.turn%len(b.clients)]
}

// set says where controller n serves, counted from 0.
func (b *balancer) set(t *testing.T, n int, url string) {
	t.Helper()
	client, err := yurtclient.New(url, yurtclient.WithPatience(0)) // the load repeats calls itself, at other controllers
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n == len(b.clients) {
		b.clients = append(b.clients, nil)
	}
	b.clients[n] = client
}

// load is the work of callers during one fault, and their results.
type load struct {
	t        *testing.T
	balancer *balancer
	lossy    string      // the node whose sessions may be lost, or empty
	mended   atomic.Bool // the fault is over
	declared map[yurt.Code]bool

	mu         sync.Mutex
	sessions   int // that were created, used and ended
	executions int // that were acknowledged, and have ended as they should
	lost       int // sessions
	errors     map[yurt.Code]int
}

func (l *load) failed(what string, err error) {
	code := yurt.CodeOf(err)
	l.mu.Lock()
	l.errors[code]++
	l.mu.Unlock()
	if !l.declared[code] {
		l.t.Errorf("%s: %s: %v", what, code, err)
	}
}

// once makes one request of one controller, and counts a failure that is not the caller's fault.
func (l *load) once(what string, do func(context.Context, *yurtclient.Client) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), try)
	defer cancel()
	err := do(ctx, l.balancer.next())
	if err != nil && !expected(err) {
		l.failed(what, err)
		time.Sleep(50 * time.Millisecond) // a caller's pause before it asks again
	}
	return err
}

// expected reports answers that are no failures: their callers know the meaning.
func expected(err error) bool {
	code := yurt.CodeOf(err)
	return code == yurt.CodeExecutionRunning || code == yurt.CodeSessionEnded
}

// again makes a request until it is answered.
func (l *load) again(what string, do func(context.Context, *yurtclient.Client) error) error {
	deadline := time.Now().Add(patience)
	for {
		err := l.once(what, do)
		if err == nil || expected(err) {
			return err
		}
		if time.Now().After(deadline) {
			l.t.Errorf("%s: not within %s: %v", what, patience, err)
			return err
		}
	}
}

// session is one that a caller has.
type session struct {
	yurt.Session

	acknowledged []string        // must be in its file, once each
	maybe        map[string]bool // may be in it: the request got no answer
	lost         bool
}

// errLost is of a session that went with its node.
var errLost = errors.New("the session was lost with its node")

// create makes a session. The key makes sure that however often it is asked for there is one.
func (l *load) create(template string) (*session, error) {
	req := yurtclient.CreateSessionRequest{TemplateID: template, Mode: yurt.ModePersistent, IdempotencyKey: yurt.NewSessionID()}
	s := &session{maybe: map[string]bool{}}
	for {
		err := l.again("creating a session", func(ctx context.Context, c *yurtclient.Client) (err error) {
			s.Session, err = c.CreateSession(ctx, req)
			return err
		})
		switch {
		case err != nil:
			return nil, err
		case s.State == yurt.SessionCreating:
			time.Sleep(50 * time.Millisecond)
		case s.State.Ended(): // the session of the key has failed, as its first caller was told
			req.IdempotencyKey = yurt.NewSessionID()
		default:
			return s, nil
		}
	}
}

// gone judges a session that has ended without a request to end it.
func (l *load) gone(s *session) error {
	var now yurt.Session
	if err := l.again("looking at a session", func(ctx context.Context, c *yurtclient.Client) (err error) {
		now, err = c.Session(ctx, s.ID)
		return err
	}); err != nil {
		return err
	}
	if l.lossy == "" || s.Placement.Node != l.lossy {
		l.t.Errorf("session %s on %s was lost: it is %s, %q", s.ID, s.Placement.Node, now.State, now.Reason)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !s.lost {
		s.lost = true
		l.lost++
	}
	return errLost
}

// execute has a line of its own written into the session's file, and wants it back.
func (l *load) execute(s *session, shell string) error {
	token := yurt.NewExecutionID()
	var e yurt.Execution
	err := l.once("starting an execution", func(ctx context.Context, c *yurtclient.Client) (err error) {
		e, err = c.Start(ctx, s.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: fmt.Sprintf(shell, token)}})
		return err
	})
	switch {
	case yurt.CodeOf(err) == yurt.CodeSessionEnded:
		return l.gone(s)
	case err != nil:
		s.maybe[token] = true
		return err
	}
	result, err := l.result(s, e.ID)
	if err != nil {
		return err
	}
	if result.Error != nil && l.lossy == s.Placement.Node {
		return l.gone(s)
	}
	if result.Error != nil || result.ExitCode != 0 || result.Stdout != token+"\n" {
		l.t.Errorf("execution %s in session %s on %s printed %q, want %q; exit code %d, error %+v", e.ID, s.ID, s.Placement.Node, result.Stdout, token+"\n", result.ExitCode, result.Error)
		return errors.New("a wrong answer")
	}
	s.acknowledged = append(s.acknowledged, token)
	l.mu.Lock()
	l.executions++
	l.mu.Unlock()
	return nil
}

// result waits for the result of an execution.
func (l *load) result(s *session, id string) (*yurt.Result, error) {
	deadline := time.Now().Add(patience)
	for {
		var e yurt.Execution
		err := l.again("asking for a result", func(ctx context.Context, c *yurtclient.Client) (err error) {
			e, err = c.Result(ctx, s.ID, id)
			return err
		})
		switch {
		case err == nil:
			return e.Result, nil
		case yurt.CodeOf(err) == yurt.CodeSessionEnded:
			return nil, l.gone(s)
		case yurt.CodeOf(err) != yurt.CodeExecutionRunning:
			return nil, err
		case time.Now().After(deadline):
			l.t.Errorf("execution %s in session %s on %s is still running", id, s.ID, s.Placement.Node)
			return nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// verify compares the output of a session's executions with the acknowledged ones.
func (l *load) verify(s *session) error {
	var text []byte
	err := l.again("reading a file", func(ctx context.Context, c *yurtclient.Client) error {
		file, _, err := c.GetFile(ctx, s.ID, "ran")
		if err != nil {
			return err
		}
		defer file.Close()
		if text, err = io.ReadAll(file); err != nil {
			return yurt.Errorf(yurt.CodeUnavailable, "reading: %w", err)
		}
		return nil
	})
	if yurt.CodeOf(err) == yurt.CodeSessionEnded {
		return l.gone(s)
	}
	if err != nil {
		return err
	}
	times := map[string]int{}
	for _, token := range strings.Fields(string(text)) {
		times[token]++
	}
	for _, token := range s.acknowledged {
		if times[token] != 1 {
			l.t.Errorf("an execution in session %s on %s ran %d times", s.ID, s.Placement.Node, times[token])
		}
		delete(times, token)
	}
	for token, n := range times {
		if n > 1 || !s.maybe[token] {
			l.t.Errorf("in session %s on %s, an execution that was not acknowledged ran %d times, asked for: %t", s.ID, s.Placement.Node, n, s.maybe[token])
		}
	}
	return nil
}

// end ends a session.
func (l *load) end(s *session) {
	err := l.again("ending a session", func(ctx context.Context, c *yurtclient.Client) error {
		_, err := c.EndSession(ctx, s.ID)
		return err
	})
	if err != nil && yurt.CodeOf(err) != yurt.CodeSessionEnded {
		return
	}
	l.mu.Lock()
	l.sessions++
	l.mu.Unlock()
}

// cycle is the whole life of a session.
func (l *load) cycle() error {
	s, err := l.create(template)
	if err != nil {
		return err
	}
	return l.use(s)
}

// wantPlaced creates sessions, beside the work of the other callers, until so many of them were
// placed like that, and uses each.
func (l *load) wantPlaced(template string, kind yurt.PlacementKind, count int) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); count > 0; {
		s, err := l.create(template)
		if err == nil {
			err = l.use(s)
		}
		if err == nil && s.Placement.Kind == kind {
			count--
			continue
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("not within %s: a session of %s placed %s: %v", patience, template, kind, err)
		}
	}
}

// use has a session do the work that callers have sessions for, and ends it.
func (l *load) use(s *session) error {
	var err error
	for range 2 {
		if failed := l.execute(s, "echo %[1]s >> ran; echo %[1]s"); failed != nil {
			err = failed
		}
	}
	if len(s.acknowledged) > 0 && !errors.Is(err, errLost) {
		err = errors.Join(err, l.verify(s))
	}
	l.end(s)
	return err
}

// keep uses a session that lives through all faults.
func (l *load) keep(s *session) error {
	return l.execute(s, "echo %[1]s >> ran; sleep 0.3; echo %[1]s")
}
