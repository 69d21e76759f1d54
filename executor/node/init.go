package node

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/oci"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// inits starts the first process of each sandbox, in cgroups of its own.
type inits struct {
	config   Config
	launcher *launch.Launcher
	cgroups  *cgroup.Manager
	filter   *os.File // the compiled seccomp filter; set when the node starts
	runs     *run.Engine
}

// cgroupSetup makes the cgroups of a new sandbox, while other steps of its start go on.
type cgroupSetup struct {
	cgroups launch.Cgroups
	took    time.Duration
	err     error         // of the host, which refuses the limits
	made    chan struct{} // closed when cgroups or err is set
	making  sync.WaitGroup
}

// setUpCgroups begins to make the sandbox's cgroups and their files. Undoing that ends the processes in them.
func (i *inits) setUpCgroups(s *Handle, layout layout.Layout, undo *rollback) *cgroupSetup {
	c := &cgroupSetup{made: make(chan struct{})}
	undo.add(func() error {
		if c.making.Wait(); s.Group == nil {
			return nil
		}
		return sandbox.DestroyGroup(s.Group)
	})
	c.making.Go(func() {
		began := time.Now()
		c.cgroups, c.err = i.makeGroup(s, layout)
		c.took = time.Since(began)
		close(c.made)
		runtime.Gosched() // the launch, which waits for the cgroups, goes first
		if c.err == nil {
			i.runs.PrepareLeaf(s.ForRun()) // while init starts
		}
	})
	return c
}

// take waits for the cgroups and returns them. The caller closes their files.
func (c *cgroupSetup) take() (launch.Cgroups, error) {
	<-c.made
	cgroups := c.cgroups
	c.cgroups = launch.Cgroups{}
	return cgroups, c.err
}

// finish waits until all is made, and closes the files that the launch did not take.
func (c *cgroupSetup) finish() {
	c.making.Wait()
	descriptor.CloseAll(c.cgroups.Births)
	descriptor.CloseAll(c.cgroups.Homes)
}

// makeGroup makes the sandbox's cgroups, and returns the files by which init and its forking thread enter them.
func (i *inits) makeGroup(s *Handle, layout layout.Layout) (cgroups launch.Cgroups, err error) {
	limits := sandbox.LimitsOf(s.Record.Spec)
	limits.Devices = sandbox.DeviceRules(layout.Devices)
	if s.Group, err = i.cgroups.Create(s.ID(), limits); err != nil {
		return cgroups, err
	}
	if cgroups.Births, err = s.Group.BirthFiles(); err != nil {
		return cgroups, err
	}
	cgroups.Homes, err = s.Group.HomeFiles()
	return cgroups, err
}

// start makes the sandbox's cgroups, starts its init in them, and returns when init answers.
func (i *inits) start(ctx context.Context, s *Handle, layout layout.Layout, undo *rollback, phases *sandbox.Phases) (err error) {
	groups := i.setUpCgroups(s, layout, undo)
	defer func() {
		if err != nil && groups.err == nil && yurt.CodeOf(err) != yurt.CodeLimitNotEnforceable {
			err = yurt.Errorf(yurt.CodeSandboxFailed, "starting sandbox %s: %w", s.ID(), err)
		}
	}()
	defer groups.finish()
	files, err := s.InitFiles(i.filter)
	if err != nil {
		return err
	}
	defer descriptor.CloseAll(files)
	spec, err := i.ociSpec(ctx, s, layout)
	if err != nil {
		return err
	}
	reply, err := i.launcher.Create(ctx, launch.CreateRequest{
		ID: s.ID(), Spec: spec, Layout: layout,
		Binds: sandbox.BindsOf(s.Record.Spec.Host), Network: sandbox.NetworkOf(s.Record.Spec.Host),
	}, files, groups.take)
	groups.finish()
	if err != nil {
		return err
	}
	phases.Add(map[string]float64{"cgroup": sandbox.Millis(groups.took)})
	phases.Add(reply.Phases)
	phases.Mark("launch")
	return i.awaitInit(ctx, s, reply.PID, phases)
}

// awaitInit returns when the init that was started answers.
func (i *inits) awaitInit(ctx context.Context, s *Handle, pid int, phases *sandbox.Phases) (err error) {
	if s.Record.Init, err = procid.Of(pid); err != nil {
		return fmt.Errorf("%w: %s", err, s.LastWords())
	}
	if err := s.Group.Settle(pid); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sandbox.InitTimeout)
	defer cancel()
	if err := s.Init.Ping(ctx); err != nil {
		return fmt.Errorf("%w: %s", err, s.LastWords())
	}
	phases.Mark("init")
	return s.Open()
}

// ociSpec returns the specification of the sandbox's namespaces, mounts and limits.
func (i *inits) ociSpec(ctx context.Context, s *Handle, root layout.Layout) (*specs.Spec, error) {
	spec := s.Record.Spec
	uptime, err := oci.HostUptime()
	if err != nil {
		return nil, err
	}
	workspace, err := s.MakeDisk(ctx)
	if err != nil {
		return nil, err
	}
	return oci.Spec(oci.Options{
		IDBase: s.Record.IDBase, Layout: root,
		Disk: spec.Resources.Disk, Memory: spec.Resources.Memory,
		CgroupPath: i.cgroups.BirthPath(s.ID()), InitArgs: sandbox.InitArgs(spec),
		MaxFiles:  max(sandbox.MaxOpenFiles, uint64(spec.Limits().Ulimits.NoFile)),
		Workspace: workspace, AppArmor: i.config.AppArmorProfile, SELinux: i.config.SELinux.For(idrange.Number(s.Record.IDBase)),
		Layered: spec.Template.Isolation.PerExecution, Hostname: sandbox.HostnameOf(spec.Host), Uptime: uptime,
	}), nil
}
