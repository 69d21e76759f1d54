package matrix

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/pgserver"
	"github.com/yurtrun/yurt/test/testutil"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// template is the template of the sessions: it needs no toolchain.
const template = "shell-basic"

// unpooled is one that no node keeps sandboxes of.
const unpooled = "bash-basic"

const (
	churners = 4 // callers that create, use and end sessions
	keptEach = 2 // sessions that live through all faults, on each node
	warm     = 2 // sandboxes in the pool
)

// arena is the cluster, and the sessions that live through all faults.
type arena struct {
	*yurtcluster.Cluster

	store    *pgserver.Server
	balancer *balancer
	kept     []*session
	rows     []row
}

// row is the outcome of one fault.
type row struct {
	name                       string
	sessions, executions, lost int
	errors                     map[yurt.Code]int
	recovered, clean           time.Duration
	failed                     bool
}

// TestMatrix has one cluster go through a fault of each kind. TestMatrixAll, with the build tag long, goes through all.
func TestMatrix(t *testing.T) { goThrough(t, shortFaults()) }

// goThrough has a cluster of its own go through the faults, one after the other.
func goThrough(t *testing.T, faults []fault) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	a := start(t)
	defer func() { t.Log("\n" + a.table()) }()
	for _, f := range faults {
		if !t.Run(f.name, func(t *testing.T) { a.run(t, f) }) {
			return // the next one would only fail of this
		}
	}
	l := a.load(t, "")
	for _, s := range a.kept {
		l.end(s)
	}
	if _, err := a.balancer.next().SetPool(t.Context(), template, yurt.PoolSize{}.Change()); err != nil {
		t.Error(err)
	}
	a.kept = nil
	a.clean(t)
}

func start(t *testing.T) *arena {
	t.Helper()
	store := pgserver.Start(t)
	a := &arena{store: store, balancer: &balancer{}}
	a.Cluster = yurtcluster.Test(t, yurtcluster.Options{
		Store: store.Database(), Servers: 3, Nodes: 2, Network: cluster.TestNetwork(t), DiskSize: "64m",
	})
	if _, err := a.StartController(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	for n, controller := range a.Controllers {
		a.balancer.set(t, n, controller.URL)
	}
	if _, err := a.balancer.next().SetPool(t.Context(), template, yurt.PoolSize{Min: warm, Max: warm}.Change()); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *arena) load(t *testing.T, lossy string, codes ...yurt.Code) *load {
	t.Helper()
	l := &load{t: t, balancer: a.balancer, lossy: lossy, errors: map[yurt.Code]int{}, declared: map[yurt.Code]bool{
		yurt.CodeUnavailable: true, yurt.CodeOverloaded: true, yurt.CodeDeadlineExceeded: true,
	}}
	for _, code := range codes {
		l.declared[code] = true
	}
	return l
}

// fill makes the missing ones of the sessions that live through all faults: so many on each node.
func (a *arena) fill(l *load) {
	l.t.Helper()
	have := map[string]int{}
	for _, s := range a.kept {
		have[s.Placement.Node]++
	}
	for deadline := time.Now().Add(patience); len(a.kept) < keptEach*len(a.Nomad.Clients); {
		s, err := l.create(template)
		if err != nil {
			l.t.Fatal(err)
		}
		if have[s.Placement.Node] < keptEach {
			have[s.Placement.Node]++
			a.kept = append(a.kept, s)
			continue
		}
		l.end(s)
		if time.Now().After(deadline) {
			l.t.Fatalf("sessions do not come to every node: %v", have)
		}
	}
}

// run is one row: callers at work, the fault, and the callers' results until all is well.
func (a *arena) run(t *testing.T, f fault) {
	lossy := ""
	if f.loses {
		lossy = a.Nomad.Clients[1].Node
	}
	l := a.load(t, lossy, f.codes...)
	a.fill(l)
	a.clean(t)
	a.wantSeen(t)
	r := row{name: f.name}
	defer func() {
		r.sessions, r.executions, r.lost, r.errors, r.failed = l.sessions, l.executions, l.lost, l.errors, t.Failed()
		a.rows = append(a.rows, r)
	}()
	r.recovered = a.under(l, func() { f.happen(t, a, l) })
	before := len(a.kept)
	a.kept = slices.DeleteFunc(a.kept, func(s *session) bool { return errors.Is(l.verify(s), errLost) })
	if lost := before - len(a.kept); f.loses != (lost == keptEach) || !f.loses && lost > 0 {
		t.Errorf("%d of %d sessions that were kept are lost", lost, before)
	}
	stopped := time.Now()
	a.clean(t)
	r.clean = time.Since(stopped)
}

// under runs the load, has the fault happen once every caller is at work, and returns how
// long after its beginning all of them are again.
func (a *arena) under(l *load, happen func()) time.Duration {
	var callers, working, well sync.WaitGroup
	stop := make(chan struct{})
	call := func(do func() error) {
		working.Add(1)
		well.Add(1)
		callers.Go(func() {
			worked, wasWell := sync.OnceFunc(working.Done), sync.OnceFunc(well.Done)
			defer wasWell()
			defer worked()
			for {
				select {
				case <-stop:
					return
				default:
				}
				mended := l.mended.Load()
				err := do()
				if worked(); err == nil && mended {
					wasWell()
				}
			}
		})
	}
	for range churners {
		call(l.cycle)
	}
	for _, s := range a.kept {
		lost := false
		call(func() error {
			if lost {
				time.Sleep(50 * time.Millisecond)
				return nil
			}
			err := l.keep(s)
			lost = errors.Is(err, errLost)
			return err
		})
	}
	defer callers.Wait()
	defer close(stop) // also when the fault ends the test
	l.wait("every caller is at work", &working)
	began := time.Now()
	happen()
	l.mended.Store(true)
	l.wait("every caller gets on again", &well)
	return time.Since(began)
}

// wait fails the test if the group is not done in time.
func (l *load) wait(what string, group *sync.WaitGroup) {
	l.t.Helper()
	done := make(chan struct{})
	go func() { // it ends when the callers do, which are waited for
		defer close(done)
		group.Wait()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		l.t.Fatalf("not so within %s: %s", patience, what)
	}
}

// clean waits until only the kept sessions and the pool are left.
func (a *arena) clean(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		left, err := a.leaks(context.WithoutCancel(t.Context()), a.kept)
		if err == nil && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("this is left after a minute, %v: %s", err, strings.Join(left, ", "))
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// leaks returns the remains without an owner: sandboxes on the nodes, jobs of Nomad's, and sessions
// that live, but for those of the sessions that are used.
func (a *arena) leaks(ctx context.Context, used []*session) ([]string, error) {
	kept := map[string]bool{}
	for _, s := range used {
		kept[s.ID] = true
	}
	var left []string
	jobs, _, err := a.Nomad.API.Jobs().List((&nomad.QueryOptions{Prefix: "yurt-" + yurt.SessionIDPrefix}).WithContext(ctx))
	if err != nil {
		return nil, err
	}
	for _, job := range jobs {
		if !kept[strings.TrimPrefix(job.ID, "yurt-")] {
			left = append(left, "job "+job.ID)
		}
	}
	for _, state := range []yurt.SessionState{yurt.SessionCreating, yurt.SessionReady, yurt.SessionRunning} {
		page, err := a.balancer.next().Sessions(ctx, yurtclient.SessionFilter{State: state})
		if err != nil {
			return nil, err
		}
		for _, s := range page.Sessions {
			if !kept[s.ID] {
				left = append(left, fmt.Sprintf("session %s, which is %s", s.ID, s.State))
			}
		}
	}
	for _, client := range a.Nomad.Clients {
		sandboxes, err := sandboxesOf(ctx, client)
		if err != nil {
			return nil, err
		}
		for _, s := range sandboxes {
			if session := s.Labels[yurt.SessionLabel]; session != "" && !kept[session] {
				left = append(left, fmt.Sprintf("sandbox %s of session %s on %s", s.ID, session, client.Node))
			}
		}
	}
	return left, nil
}

// wantSeen makes sure that leaks would be seen: while no caller uses the kept sessions, they and
// their sandboxes are.
func (a *arena) wantSeen(t *testing.T) {
	t.Helper()
	left, err := a.leaks(t.Context(), nil)
	for _, s := range a.kept {
		for _, what := range []string{"session " + s.ID, "sandbox " + s.SandboxID} {
			if !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(l, what) }) {
				t.Errorf("%s would not be seen if it were left: %q, %v", what, left, err)
			}
		}
	}
}

func sandboxesOf(ctx context.Context, client *cluster.NomadAgent) ([]yurt.Sandbox, error) {
	executor, err := client.Executor()
	if err != nil {
		return nil, err
	}
	defer executor.Close()
	return executor.Sandboxes(ctx)
}

// table is the matrix.
func (a *arena) table() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\tsessions\texecutions\tlost\terrors\trecovered\tclean after\t")
	for _, r := range a.rows {
		var kinds []string
		for _, code := range slices.Sorted(maps.Keys(r.errors)) {
			kinds = append(kinds, fmt.Sprintf("%d %s", r.errors[code], code))
		}
		verdict := ""
		if r.failed {
			verdict = "FAILED"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%.1f s\t%.1f s\t%s\n", r.name, r.sessions, r.executions, r.lost,
			strings.Join(kinds, ", "), r.recovered.Seconds(), r.clean.Seconds(), verdict)
	}
	_ = w.Flush() // into memory
	return text.String()
}
