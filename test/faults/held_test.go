package faults

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// remember counts in a context. Each time that is said to be begun counts at most once,
// each that has a result exactly once, and the interpreter stays the one it was.
func (l *load) remember(stop context.Context, sandbox string) {
	for said, tries := 0, 0; ; {
		last := stop.Err() != nil // the executor is not killed any more
		tries++
		spec := yurt.ExecutionSpec{
			ID: yurt.NewExecutionID(), Kind: yurt.KindCode, Language: "python", ContextName: "counting",
			Code: "n = globals().get('n', 0) + 1\nprint(n)", Timeout: yurt.Duration(10 * time.Minute), OutputLimit: 1 << 20,
		}
		if l.gone("starting code", l.node.StartExecution(context.Background(), sandbox, spec)) {
			continue
		}
		result, ok := l.result(sandbox, spec.ID)
		if !ok {
			return
		}
		n, err := strconv.Atoi(strings.TrimSpace(result.Stdout))
		if err != nil || n <= said || n > said+tries || said > 0 && result.KernelRestarted || result.StateLost || result.Error != nil {
			l.t.Errorf("the context counted to %d, then %d times more, and said %q, %v: %+v", said, tries, result.Stdout, result.Error, result)
			return
		}
		said, tries = n, 0
		l.count("contexts")
		if last {
			return
		}
	}
}

// freeze pauses and resumes a sandbox, and checks its state after each.
func (l *load) freeze(stop context.Context, sandbox string) {
	steps := []struct {
		what string
		do   func(context.Context, string) error
		want yurt.SandboxState
	}{
		{"pausing", l.node.PauseSandbox, yurt.SandboxPaused},
		{"resuming", l.node.ResumeSandbox, yurt.SandboxReady},
	}
	for stop.Err() == nil {
		for _, step := range steps {
			if !l.again(step.what, func(ctx context.Context) error { return step.do(ctx, sandbox) }) {
				return
			}
			if now := l.list()[sandbox]; now.State != step.want {
				l.t.Errorf("after %s, sandbox %s is %+v", step.what, sandbox, now)
			}
		}
		l.count("pauses")
	}
}

// sleeper is a paused sandbox in which something counts when it is not.
type sleeper struct {
	yurt.Sandbox
	ticks int // how far it came before the pause
}

// fallAsleep makes a sandbox that counts, and pauses it.
func (l *load) fallAsleep() *sleeper {
	l.t.Helper()
	s := &sleeper{Sandbox: l.mustCreate()}
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Timeout: yurt.Duration(time.Hour), OutputLimit: 1 << 20,
		Command: []string{"/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo $i > next; mv next ticks; sleep 0.02; done"},
	}
	if err := l.node.StartExecution(l.t.Context(), s.ID, spec); err != nil {
		l.t.Fatal(err)
	}
	testutil.Eventually(l.t, "it counts", func() bool { return l.ticks(s.ID) > 0 })
	if err := l.node.PauseSandbox(l.t.Context(), s.ID); err != nil {
		l.t.Fatal(err)
	}
	s.ticks = l.ticks(s.ID)
	return s
}

// checkAsleep wants it to be as it was.
func (l *load) checkAsleep(s *sleeper) {
	l.t.Helper()
	if now := l.ticks(s.ID); now != s.ticks {
		l.t.Errorf("a paused sandbox went on from %d to %d", s.ticks, now)
	}
}

// wake wants it to go on where it was.
func (l *load) wake(s *sleeper) {
	l.t.Helper()
	if err := l.node.ResumeSandbox(l.t.Context(), s.ID); err != nil {
		l.t.Fatal(err)
	}
	testutil.Eventually(l.t, "what was paused goes on", func() bool { return l.ticks(s.ID) > s.ticks })
}

// ticks returns how far a sandbox has counted, 0 before it begins.
func (l *load) ticks(sandbox string) int {
	l.t.Helper()
	ticks := 0
	l.again("reading", func(ctx context.Context) error {
		file, _, err := l.node.ReadFile(ctx, sandbox, "ticks", yurt.Span{})
		if yurt.CodeOf(err) == yurt.CodeFileNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		defer file.Close()
		text, err := io.ReadAll(file)
		if err == nil {
			ticks, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err
	})
	return ticks
}

// ready is how many sandboxes stock keeps in reserve.
const ready = 3

// stock keeps a reserve filled.
func (l *load) stock(stop context.Context) {
	for stop.Err() == nil {
		list, err := l.node.Reserves(context.Background())
		if l.gone("looking at the reserve", err) {
			continue
		}
		if len(list) > 0 && list[0].Ready >= ready {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		_, err = l.node.ReserveSandbox(context.Background(), reservedTemplate())
		if !l.gone("reserving", err) {
			l.count("reserved")
		}
	}
}

func reservedTemplate() yurt.Template {
	t := testutil.Template()
	t.Name = "reserved"
	t.Resources.Memory, t.Resources.Disk = 64<<20, 8<<20
	return t
}

// claimLabel names the claim that a sandbox was handed out to.
const claimLabel = "claim"

// claims claims sandboxes, uses and destroys them, as the caller called name.
func (l *load) claims(stop context.Context, name string) {
	for i := 0; stop.Err() == nil; i++ {
		if s, ok := l.claim(name + "-" + strconv.Itoa(i)); ok {
			l.useClaimed(s)
		} else {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// claimOf is the specification of a claim with that label.
func claimOf(label string) yurt.SandboxSpec {
	template := reservedTemplate()
	return yurt.SandboxSpec{
		ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources.Or(yurt.DefaultResources()),
		Labels: map[string]string{claimLabel: label, yurt.SessionLabel: label},
	}
}

// claim claims a sandbox. If the answer of a claim was lost, its sandbox is found by its label.
func (l *load) claim(label string) (yurt.Sandbox, bool) {
	spec := claimOf(label)
	s, found, err := l.node.ClaimSandbox(context.Background(), spec)
	lost := l.gone("claiming", err)
	if !lost && !found {
		return yurt.Sandbox{}, false
	}
	var owned []yurt.Sandbox
	for _, there := range l.list() {
		if there.Labels[claimLabel] == label {
			owned = append(owned, there)
		}
	}
	if lost && len(owned) == 0 {
		return yurt.Sandbox{}, false
	}
	if len(owned) != 1 || owned[0].Warm || found && owned[0].ID != s.ID {
		l.t.Errorf("the claim %s was told %s and got %+v", label, s.ID, owned)
		return yurt.Sandbox{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tried[owned[0].ID] {
		l.t.Errorf("sandbox %s was handed out twice, the second time to %s", owned[0].ID, label)
	}
	l.tried[owned[0].ID] = true
	return owned[0], true
}

// useClaimed leaves a mark in a sandbox, which must have had no mark before.
func (l *load) useClaimed(s yurt.Sandbox) {
	mark := fmt.Sprintf("cat mark 2>/dev/null; echo %s > mark", s.Labels[claimLabel])
	if out, ok := l.run(s.ID, mark); ok && out != "" {
		l.t.Errorf("sandbox %s was used before, by %s", s.ID, out)
	}
	l.destroy(s.ID)
	l.count("claims")
}

// checkReserve claims the whole reserve while no other caller is at work: each sandbox once, and no
// more.
func (l *load) checkReserve() {
	l.t.Helper()
	for i := 0; ; i++ {
		s, ok := l.claim("last-" + strconv.Itoa(i))
		if !ok {
			return
		}
		l.useClaimed(s)
	}
}

// list returns the executor's sandboxes, by id.
func (l *load) list() map[string]yurt.Sandbox {
	known := map[string]yurt.Sandbox{}
	l.again("listing", func(ctx context.Context) error {
		list, err := l.node.Sandboxes(ctx)
		for _, s := range list {
			known[s.ID] = s
		}
		return err
	})
	return known
}
