package hostile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

const (
	crowdSize = 10
	// patience is how long a hostile execution may go on, and life how long its session lives: the server ends both if the
	// test is killed.
	patience = 2 * time.Minute
	life     = 5 * time.Minute
	settling = 200 * time.Millisecond
)

// work is a use of the API or of a sandbox whose time is measured.
type work struct {
	name string
	do   func(ctx context.Context) error
	// inside is true of work that starts or wakes processes in a sandbox, which share the processors with the hostile ones.
	inside bool
	// making is true of work that makes a sandbox.
	making bool
}

// bounds are how many times its p50 alone a work may take.
type bounds struct{ api, inside, making float64 }

// bystander is a session that works as those of other users do, and the works that are measured.
func bystander(t *testing.T, c *yurtclient.Client) []work {
	t.Helper()
	s := create(t, c, nil, 0)
	execute := func(ctx context.Context, req yurtclient.ExecuteRequest, want string) error {
		r, err := c.Execute(ctx, s, req)
		if err == nil && (r.Result == nil || r.Result.Error != nil || !strings.Contains(r.Result.Stdout, want)) {
			err = fmt.Errorf("the execution ended as %+v, want %q", r.Result, want)
		}
		return err
	}
	works := []work{
		{name: "look at a session", do: func(ctx context.Context) error { _, err := c.Session(ctx, s); return err }},
		{name: "command", inside: true, do: func(ctx context.Context) error {
			return execute(ctx, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"/bin/echo", "works"}}}, "works")
		}},
		{name: "cell of Python", inside: true, do: func(ctx context.Context) error {
			return execute(ctx, yurtclient.ExecuteRequest{Code: "print(6 * 7)", Language: "python", Context: yurtclient.InContext("main")}, "42")
		}},
		{name: "file", do: func(ctx context.Context) error {
			_, err := c.PutFile(ctx, s, "file", strings.NewReader("content"))
			return err
		}},
		{name: "create and end a session", making: true, do: func(ctx context.Context) error {
			made, err := c.CreateSession(ctx, yurtclient.CreateSessionRequest{TemplateID: templateName})
			if err != nil {
				return err
			}
			_, err = c.EndSession(ctx, made.ID)
			return err
		}},
	}
	for _, w := range works { // the cost of the first time does not matter here
		for range 3 {
			if err := w.do(t.Context()); err != nil {
				t.Fatalf("%s: %v", w.name, err)
			}
		}
	}
	return works
}

const templateName = "python-basic"

func create(t *testing.T, c *yurtclient.Client, limits *yurtclient.Resources, lifetime time.Duration) (id string) {
	t.Helper()
	s, err := c.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: templateName, Resources: limits, Timeout: yurt.Duration(lifetime)})
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// crowd are the hostile sandboxes, which stand still but between resume and pause.
type crowd struct {
	client   *yurtclient.Client
	sessions []string
	gate     sync.RWMutex // held to write while they stand still
	acting   sync.WaitGroup
	stop     context.CancelFunc
}

// gather makes ten hostile sandboxes, of the kinds in turn, and has them begin and stand still.
func gather(t *testing.T, c *yurtclient.Client, kinds []kind) *crowd {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	g := &crowd{client: c, stop: stop}
	g.gate.Lock()
	for n := range crowdSize {
		s := create(t, c, small(), life)
		g.sessions = append(g.sessions, s)
		g.acting.Go(func() { g.act(ctx, s, kinds[n%len(kinds)]) })
	}
	g.gate.Unlock()
	time.Sleep(testutil.Moment(t, 2*time.Second))
	g.pause(t)
	return g
}

// act has one session do harm until ctx ends. The outcome does not matter.
func (g *crowd) act(ctx context.Context, session string, k kind) {
	for round := 0; ctx.Err() == nil; round++ {
		g.gate.RLock()
		if k.flood == nil {
			g.gate.RUnlock() // it stands still with its sandbox
			_, _ = g.client.Execute(ctx, session, yurtclient.ExecuteRequest{
				Command: yurtclient.Command{Argv: []string{"/usr/bin/python3", "-c", imports + k.program}},
				Timeout: yurt.Duration(patience), OutputLimit: 1 << 20,
			})
			continue
		}
		k.flood(ctx, g.client, session, round)
		g.gate.RUnlock()
	}
}

// pause has all of them stand still.
func (g *crowd) pause(t *testing.T) {
	t.Helper()
	g.gate.Lock()
	for _, s := range g.sessions {
		if _, err := g.client.PauseSession(t.Context(), s); err != nil {
			t.Fatalf("pausing a hostile session: %v", err)
		}
	}
}

// resume has all of them go on.
func (g *crowd) resume(t *testing.T) {
	t.Helper()
	for _, s := range g.sessions {
		if _, err := g.client.ResumeSession(t.Context(), s); err != nil {
			t.Fatalf("resuming a hostile session: %v", err)
		}
	}
	g.gate.Unlock()
	time.Sleep(settling)
}

// used is how much of the processors they have had, in seconds.
func (g *crowd) used(t *testing.T) (seconds float64) {
	t.Helper()
	for _, s := range g.sessions {
		m, err := g.client.SessionMetrics(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		seconds += m.CPUSeconds
	}
	return seconds
}

// disband ends them. They stand still.
func (g *crowd) disband(t *testing.T) {
	t.Helper()
	g.stop()
	var failed error
	for _, s := range g.sessions {
		_, err := g.client.EndSession(context.WithoutCancel(t.Context()), s)
		failed = errors.Join(failed, err)
	}
	g.gate.Unlock()
	g.acting.Wait()
	if failed != nil {
		t.Errorf("hostile sessions cannot be ended: %v", failed)
	}
}

// times are those that each work took, by name.
type times map[string][]time.Duration

func (in times) measure(t *testing.T, works []work, samples int) {
	t.Helper()
	for range samples {
		for _, w := range works {
			began := time.Now()
			if err := w.do(t.Context()); err != nil {
				t.Fatalf("%s: %v", w.name, err)
			}
			in[w.name] = append(in[w.name], time.Since(began))
		}
	}
}

func p50(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// beside measures the works in turn while the hostile sandboxes stand still and while they act, so that other load of the
// machine takes from both alike. Each work must take at most so many times its p50.
func beside(t *testing.T, c *yurtclient.Client, works []work, kinds []kind, rounds, samples int, limit bounds) {
	t.Helper()
	g := gather(t, c, kinds)
	defer g.disband(t)
	alone, among := make(times), make(times)
	before, acted := g.used(t), time.Duration(0)
	for range rounds {
		time.Sleep(settling)
		alone.measure(t, works, samples)
		began := time.Now()
		g.resume(t)
		among.measure(t, works, samples)
		g.pause(t)
		acted += time.Since(began)
	}
	for _, w := range works {
		a, b := p50(alone[w.name]), p50(among[w.name])
		t.Logf("%-25s alone %8s, among them %8s: %.2f times", w.name, a.Round(10*time.Microsecond), b.Round(10*time.Microsecond), float64(b)/float64(a))
		most := limit.api
		switch {
		case w.inside:
			most = limit.inside
		case w.making:
			most = limit.making
		}
		if float64(b) > most*float64(a) {
			t.Errorf("%s: its p50 is %s beside ten hostile sandboxes and %s alone: %.2f times, want %.1f at most", w.name, b, a, float64(b)/float64(a), most)
		}
	}
	used := g.used(t) - before
	t.Logf("in %s they had %.1f s of processors", acted.Round(time.Millisecond), used)
	if least, most := 0.05*acted.Seconds(), 1.2*acted.Seconds(); used < least || used > most {
		t.Errorf("the hostile sandboxes had %.2f s of processors in %s, want %.2f to %.2f: their quotas sum to one core", used, acted, least, most)
	}
}

// TestCrowd puts ten kinds beside one another. Other tests run at the same time, so that it tells a node that stands still from
// one that works. The API, which shares no cgroup with sandboxes, is held to more.
func TestCrowd(t *testing.T) {
	testutil.NeedsSandboxes(t)
	_, client := testutil.Serve(t, testutil.BuildYurt(t, "yurt", "test"))
	all := kinds()
	var some []kind
	for n := 0; n < len(all); n += 2 {
		some = append(some, all[n])
	}
	beside(t, client, bystander(t, client), some, 3, 5, bounds{api: 4, inside: 40, making: 40})
}
