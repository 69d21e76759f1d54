package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/budget"
	"github.com/yurtrun/yurt/executor/statedir"
)

// node starts an executor.
func (p *place) node() (*executor.Executor, error) {
	binaries, err := executor.FindBinaries(filepath.Join(p.bin, "yurt"))
	if err != nil {
		return nil, err
	}
	config := executor.Config{
		StateDir: p.stateDir(), RunDir: p.runDir, NodeName: "bench", Transient: true, Logger: slog.New(slog.DiscardHandler), MaxSandboxes: 1500, All: budget.Bounds{Overcommit: budget.MaxOvercommit},
		InitPath: binaries.Init, LauncherPath: binaries.Launcher, UnpackerPath: binaries.Unpacker, FilesPath: binaries.Files, PluginDir: binaries.PluginDir,
	}
	if config.Broker, err = p.startBroker(config); err != nil {
		return nil, err
	}
	e, err := executor.New(config)
	if err != nil {
		return nil, err
	}
	// The sandboxes go also when the bench is interrupted.
	p.cleanup(func() error { return errors.Join(e.DestroyAll(context.WithoutCancel(p.ctx)), e.Close()) })
	return e, e.Start(p.ctx)
}

func (p *place) stateDir() string { return filepath.Join(p.dir, "node") }

func sandboxSpec() yurt.SandboxSpec {
	return yurt.SandboxSpec{
		ID: yurt.NewSandboxID(), Resources: yurt.DefaultResources(),
		Template: yurt.Template{
			Name: "bench", RootFS: yurt.RootFS{HostPaths: yurt.DefaultHostPaths()},
			Isolation: yurt.Isolation{Level: yurt.IsolationNamespaces}, Network: yurt.Network{Mode: yurt.NetworkNone},
		},
	}
}

// execute runs a command in a sandbox to its end and forgets it.
func (p *place) execute(e *executor.Executor, sandbox string, argv ...string) error {
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: argv,
		Timeout: yurt.Duration(time.Minute), OutputLimit: yurt.DefaultOutputLimit,
	}
	if err := e.StartExecution(p.ctx, sandbox, spec); err != nil {
		return err
	}
	result, err := e.WaitExecution(p.ctx, sandbox, spec.ID)
	if err != nil {
		return err
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("it exited with %d: %s", result.ExitCode, result.Stderr)
	}
	return e.ForgetExecution(p.ctx, sandbox, spec.ID)
}

// createRunDestroy is the life of the shortest-lived sandbox there can be.
func (p *place) createRunDestroy(e *executor.Executor) error {
	s, err := e.CreateSandbox(p.ctx, sandboxSpec())
	if err != nil {
		return err
	}
	p.note(s.Phases)
	return errors.Join(p.execute(e, s.ID, "/bin/true"), e.DestroySandbox(p.ctx, s.ID))
}

// sandboxCreate is create, run /bin/true, destroy: all on the node.
func sandboxCreate(p *place) ([]contender, error) {
	e, err := p.node()
	if err != nil {
		return nil, err
	}
	runc, err := newRunc(p)
	if err != nil {
		return nil, err
	}
	return []contender{
		{name: "yurt", do: func() error { return p.createRunDestroy(e) }},
		{name: "runc", do: runc.run},
		{name: "bwrap", do: func() error { return command("bwrap", bwrapArgs()...) }},
		{name: "fork+exec", do: func() error { return command("/bin/true") }},
	}, nil
}

// sandboxCreateRate is the same, back to back on all cores.
func sandboxCreateRate(p *place, n int) (Row, error) {
	e, err := p.node()
	if err != nil {
		return Row{}, err
	}
	runc, err := newRunc(p)
	if err != nil {
		return Row{}, err
	}
	if err := p.createRunDestroy(e); err != nil {
		return Row{}, err
	}
	ours, err := perSecond(n, func() error { return p.createRunDestroy(e) })
	if err != nil {
		return Row{}, err
	}
	theirs, err := perSecond(n/4, runc.run)
	if err != nil {
		return Row{}, err
	}
	return Row{Value: ours, Unit: "1/s", N: n, Peers: map[string]Peer{"runc": {Value: theirs, Ratio: ours / theirs}}}, nil
}

// perSecond does it n times, on two for each core at a time, so that no core is idle while one
// waits for the kernel.
func perSecond(n int, do func() error) (float64, error) {
	var group errgroup.Group
	group.SetLimit(2 * runtime.NumCPU())
	began := time.Now()
	for range n {
		group.Go(do)
	}
	err := group.Wait()
	return float64(n) / time.Since(began).Seconds(), err
}

// sandboxClaim is a claim with an environment, a workspace and limits of its own.
func sandboxClaim(p *place) ([]contender, error) {
	e, err := p.node()
	if err != nil {
		return nil, err
	}
	var claimed string
	return []contender{
		{
			name: "yurt",
			before: func() error {
				_, err := e.ReserveSandbox(p.ctx, sandboxSpec().Template)
				time.Sleep(isolated)
				return err
			},
			do: func() error {
				spec := sandboxSpec()
				spec.Env = map[string]string{"OWNER": "bench"}
				spec.Resources.Memory, spec.Resources.Disk = spec.Resources.Memory/2, spec.Resources.Disk/2
				s, found, err := e.ClaimSandbox(p.ctx, spec)
				if err == nil && !found {
					err = errors.New("the reserve is empty")
				}
				p.note(s.Phases)
				claimed = s.ID
				return err
			},
			after: func() error { return e.DestroySandbox(p.ctx, claimed) },
		},
		{name: "fork+exec", do: func() error { return command("/bin/true") }},
	}, nil
}

// sandboxDestroy is the time that the caller of a destroy waits.
func sandboxDestroy(p *place) ([]contender, error) {
	e, err := p.node()
	if err != nil {
		return nil, err
	}
	var made string
	return []contender{{
		name: "yurt",
		before: func() error {
			s, err := e.CreateSandbox(p.ctx, sandboxSpec())
			made = s.ID
			time.Sleep(isolated)
			return err
		},
		do: func() error { return e.DestroySandbox(p.ctx, made) },
	}}, nil
}

// sandboxExec is a command in a sandbox that is there, on the node, with its output.
func sandboxExec(p *place) ([]contender, error) {
	e, err := p.node()
	if err != nil {
		return nil, err
	}
	s, err := e.CreateSandbox(p.ctx, sandboxSpec())
	if err != nil {
		return nil, err
	}
	return []contender{
		{name: "yurt", do: func() error { return p.execute(e, s.ID, "/bin/echo", "hello") }},
		{name: "fork+exec", do: func() error { return command("/bin/echo", "hello") }},
	}, nil
}

// sandboxMemory makes n idle sandboxes and returns the memory that one adds, in KiB, and how much
// longer the last creates took than the first.
func sandboxMemory(p *place, n int) (Row, error) {
	e, err := p.node()
	if err != nil {
		return Row{}, err
	}
	const few = 10
	var took []float64
	var before float64
	for i := range n {
		if i == few {
			if before, err = usedMemory(); err != nil {
				return Row{}, err
			}
		}
		began := time.Now()
		if _, err := e.CreateSandbox(p.ctx, sandboxSpec()); err != nil {
			return Row{}, err
		}
		took = append(took, millis(time.Since(began)))
	}
	after, err := usedMemory()
	if err != nil {
		return Row{}, err
	}
	window := min(50, n/2)
	row := Row{
		Value: (after - before) / float64(n-few), Unit: "KiB", N: n,
		Growth: quantile(took[n-window:], 0.5) / quantile(took[:window], 0.5),
	}
	row.Peers = map[string]Peer{"in its cgroup": {Value: chargedMemory(p.stateDir(), n)}}
	return row, nil
}

// settled is how long interpreters may take to be idle after they were started.
const settled = 2 * time.Second

// kernelMemory is the memory that the interpreters of a warm sandbox add to the charge of its
// cgroup. The peer is the part charged to the kernel's own cgroup: on cgroup v1, where it is forked
// from the zygote, the part that it does not share with that.
func kernelMemory(p *place, n int) (Row, error) {
	e, err := p.node()
	if err != nil {
		return Row{}, err
	}
	var added [2]float64
	for i, interpreter := range []bool{false, true} {
		template := warmSpec().Template
		template.WarmPool.Interpreter = interpreter
		before := chargedMemory(p.stateDir(), n)
		for range n {
			if _, err := e.ReserveSandbox(p.ctx, template); err != nil {
				return Row{}, err
			}
		}
		time.Sleep(settled)
		added[i] = chargedMemory(p.stateDir(), n) - before
	}
	kernels := Peer{Value: chargedKernels(p.stateDir()) / float64(n)}
	return Row{Value: added[1] - added[0], Unit: "KiB", N: n, Peers: map[string]Peer{kernelAlone: kernels}}, nil
}

// kernelAlone is the name of the figure of a kernel without its zygote.
const kernelAlone = "the kernel alone"

// warmSpec is of a sandbox that waits with its interpreters.
func warmSpec() yurt.SandboxSpec {
	spec := sandboxSpec()
	spec.Template.Runtimes, spec.Template.WarmPool.Interpreter = []string{"python"}, true
	return spec
}

// usedMemory returns how much of the machine's memory is not available, in KiB.
func usedMemory() (float64, error) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	var total, available float64
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "MemTotal:":
			total, err = strconv.ParseFloat(fields[1], 64)
		case "MemAvailable:":
			available, err = strconv.ParseFloat(fields[1], 64)
		}
		if err != nil {
			return 0, err
		}
	}
	return total - available, nil
}

// chargedMemory returns the kernel's charge to the cgroup of one of n sandboxes, in KiB. Unlike the
// machine's memory it does not change with other load.
func chargedMemory(stateDir string, n int) float64 {
	return charged(stateDir, "") / float64(n)
}

// chargedKernels returns the charge to the cgroups of all kernels, in KiB.
func chargedKernels(stateDir string) float64 {
	return charged(stateDir, "*/runs/krn_*")
}

// charged returns the kernel's charge to the cgroups below the executor's that match, in KiB.
func charged(stateDir, pattern string) (sum float64) {
	for _, file := range []string{"memory/%s/memory.usage_in_bytes", "%s/memory.current"} {
		found, _ := filepath.Glob(filepath.Join("/sys/fs/cgroup", fmt.Sprintf(file, filepath.Join(statedir.CgroupName(stateDir), pattern)))) // its error is of bad patterns
		for _, name := range found {
			data, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			if bytes, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64); err == nil {
				sum += bytes / 1024
			}
		}
	}
	return sum
}
