package broker

import (
	"context"
	"errors"
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
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// Start implements [Broker]. The cgroups are made while the launcher takes its first steps.
func (l *Local) Start(ctx context.Context, r StartRequest) (_ Started, err error) {
	if err := l.check(r); err != nil {
		return Started{}, err
	}
	root, commands, err := l.layOut(r.Root, r.Host)
	if err != nil {
		return Started{}, err
	}
	if err := l.takeRange(r.IDBase, r.ID); err != nil {
		return Started{}, err
	}
	defer func() {
		if err != nil {
			giveRangeBack(l, r.ID)
		}
	}()
	listener, words, err := l.initFiles(r.ID)
	if err != nil {
		return Started{}, startFailed(r.ID, err)
	}
	defer listener.Close()
	defer words.Close()
	setup := l.setUpCgroups(r, root.Devices)
	defer func() {
		setup.finish()
		if err != nil {
			err = setup.undo(r.ID, err)
		}
	}()
	workspace, err := l.makeDisk(ctx, r)
	if err != nil {
		return Started{}, err
	}
	spec, err := l.ociSpec(r, root, workspace)
	if err != nil {
		return Started{}, err
	}
	filter, err := l.filters.Of(ctx, filterGroups(r))
	if err != nil {
		return Started{}, err
	}
	reply, err := l.Launcher.Create(ctx, launch.CreateRequest{
		ID: r.ID, Spec: spec, Layout: root, Memory: int64(r.Limits.Memory), Binds: bindsOf(r.Host), Network: networkOf(r.Host), Workspace: workspace,
	}, []*os.File{listener, filter, words}, setup.take)
	setup.finish()
	if err != nil {
		return Started{}, err
	}
	init, err := procid.Of(reply.PID)
	if err != nil {
		return Started{}, err
	}
	if err := setup.group.Settle(reply.PID); err != nil {
		return Started{}, err
	}
	reply.Phases["cgroup"] = float64(setup.took.Microseconds()) / 1000
	next := l.list.keep(r.ID, setup.group, init, r.Limits).nextRun(l.Logger)
	return Started{Gauge: setup.group, Init: init, Phases: reply.Phases, Commands: commands, Next: next}, nil
}

// check refuses a sandbox that is there already, limits beyond those of the node, and ids that are not those of a sandbox.
func (l *Local) check(r StartRequest) error {
	if err := checkSandbox(r.ID); err != nil {
		return err
	}
	if r.Host != nil && !l.Tasks {
		return yurt.FieldErrorf(yurt.CodeForbidden, "host", "sandboxes of this broker are no tasks of Nomad, and get no files, devices and networks of the host; leave it out, or start yurt executor")
	}
	there, err := l.Cgroups.Has(r.ID)
	if err != nil {
		return fmt.Errorf("looking for the cgroup of sandbox %s: %w", r.ID, err)
	}
	if there {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "sandbox_id", "sandbox %s has a cgroup already; end it first", r.ID)
	}
	if !idrange.IsSandbox(r.IDBase) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "id_base", "%d is not the first id of a sandbox's range", r.IDBase)
	}
	if err := errors.Join(l.Cgroups.CheckLimits(LimitsOf(r.Limits, r.Host)), checkDisk(r.Limits)); err != nil {
		return err
	}
	return r.Host.Validate("host")
}

func startFailed(id string, err error) error {
	return yurt.Errorf(yurt.CodeSandboxFailed, "starting sandbox %s: %w", id, err)
}

// cgroupSetup makes the cgroups of a new sandbox, while other steps of its start go on.
type cgroupSetup struct {
	group  cgroup.Group // nil if it could not be made
	files  launch.Cgroups
	took   time.Duration
	err    error         // of the host, which refuses the limits
	made   chan struct{} // closed when files or err is set
	making sync.WaitGroup
}

// setUpCgroups begins to make the sandbox's cgroups, and the files by which init and its forking thread enter them.
func (l *Local) setUpCgroups(r StartRequest, devices []layout.Device) *cgroupSetup {
	c := &cgroupSetup{made: make(chan struct{})}
	c.making.Go(func() {
		began := time.Now()
		c.err = c.make(l.Cgroups, r, devices)
		c.took = time.Since(began)
		close(c.made)
		runtime.Gosched() // the launch, which waits for the cgroups, goes first
		if c.err != nil {
			return
		}
		if err := c.group.Prepare(); err != nil { // while init starts
			l.Logger.Debug("preparing for the first execution", "sandbox", r.ID, "error", err)
		}
	})
	return c
}

func (c *cgroupSetup) make(groups *cgroup.Manager, r StartRequest, devices []layout.Device) (err error) {
	limits := LimitsOf(r.Limits, r.Host)
	limits.Devices = deviceRules(devices)
	if c.group, err = groups.Create(r.ID, limits); err != nil {
		return err
	}
	if c.files.Births, err = c.group.BirthFiles(); err != nil {
		return err
	}
	c.files.Homes, err = c.group.HomeFiles()
	return err
}

// take waits for the files of the cgroups and returns them. The caller closes them.
func (c *cgroupSetup) take() (launch.Cgroups, error) {
	<-c.made
	files := c.files
	c.files = launch.Cgroups{}
	return files, c.err
}

// finish waits until all is made, and closes the files that the launch did not take.
func (c *cgroupSetup) finish() {
	c.making.Wait()
	descriptor.CloseAll(c.files.Births)
	descriptor.CloseAll(c.files.Homes)
	c.files = launch.Cgroups{}
}

// destroyTimeout bounds how long the processes of a sandbox that could not be started may take to end.
const destroyTimeout = 10 * time.Second

// undo ends the processes in the cgroups and removes these. It says in the error which sandbox could not be started, unless the host
// has refused the limits.
func (c *cgroupSetup) undo(id string, err error) error {
	if c.err == nil && yurt.CodeOf(err) != yurt.CodeLimitNotEnforceable {
		err = startFailed(id, err)
	}
	if c.group == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), destroyTimeout)
	defer cancel()
	return errors.Join(err, c.group.Destroy(ctx))
}

// ociSpec returns the specification of the sandbox's namespaces, mounts and limits.
func (l *Local) ociSpec(r StartRequest, root layout.Layout, workspace *launch.Workspace) (*specs.Spec, error) {
	uptime, err := oci.HostUptime()
	if err != nil {
		return nil, err
	}
	path := ""
	if workspace != nil {
		path = workspace.Path
	}
	return oci.Spec(oci.Options{
		IDBase: r.IDBase, Layout: root, Disk: r.Limits.Disk, Memory: r.Limits.Memory,
		CgroupPath: l.Cgroups.BirthPath(r.ID), InitArgs: initArgs(r),
		MaxFiles:  max(maxOpenFiles, uint64(r.Limits.Ulimits.NoFile)),
		Workspace: path, AppArmor: l.AppArmorProfile, SELinux: l.SELinux.For(idrange.Number(r.IDBase)),
		Layered: r.Isolation.PerExecution, Hostname: hostnameOf(r.Host), Uptime: uptime,
	}), nil
}
