package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// CreateSandbox makes a sandbox and returns when it is ready. When it fails or ctx
// ends, nothing is left behind. The answer says how long each phase took.
func (n *Node) CreateSandbox(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
	return n.make(ctx, spec, purpose{})
}

// purpose is what a sandbox is made for: who asks for it, unless it is warm, which is for
// the reserve, in a slot if one is given.
type purpose struct {
	warm     bool
	slot     *slot
	installs bool // it is the executor's own, for an installation of packages
}

// urgent reports whether somebody waits for the sandbox.
func (p purpose) urgent() bool { return p.slot == nil || p.slot.Spec.For != "" }

// hurried returns a channel that is closed when somebody waits for it after all; nil if
// that is never so.
func (p purpose) hurried() <-chan struct{} {
	if p.slot == nil {
		return nil
	}
	return p.slot.Hurrying()
}

// record is what is written of a sandbox that is made for it.
func (p purpose) record(spec yurt.SandboxSpec, base uint32) sandbox.Record {
	spec.Files = nil // the workspace has them
	r := sandbox.Record{Version: records.Version, Spec: spec, IDBase: base, CreatedAt: time.Now(), Warm: p.warm, Installs: p.installs}
	if p.slot != nil {
		r.Slot = p.slot.Spec.ID
	}
	return r
}

// make makes a sandbox.
func (n *Node) make(ctx context.Context, spec yurt.SandboxSpec, to purpose) (_ yurt.Sandbox, err error) {
	if err := n.admit(spec); err != nil {
		return yurt.Sandbox{}, err
	}
	if err := n.disks.Check(); err != nil {
		return yurt.Sandbox{}, err
	}
	defer n.disks.Explain(&err)
	if to.urgent() {
		defer n.processors.Hold()()
	}
	phases := sandbox.NewPhases()
	root, letGo, err := n.rootOf(ctx, spec, to, phases)
	defer letGo()
	if err != nil {
		return yurt.Sandbox{}, err
	}
	done, err := n.begin(ctx, spec.ID, to)
	if err != nil {
		return yurt.Sandbox{}, err
	}
	defer done()
	phases.Mark("queue")
	undo := &rollback{}
	defer func() {
		if err != nil {
			err = undo.run(err)
		}
	}()

	base, err := n.ids.Take()
	if err != nil {
		return yurt.Sandbox{}, err
	}
	undo.add(func() error { n.ids.Free(base); return nil })
	record := to.record(spec, base)
	record.Path, record.Installable = root.commands, !to.installs && n.mayInstall(spec)
	s := n.newHandle(record, nil, to.slot)
	if err := s.MakeDir(); err != nil {
		return yurt.Sandbox{}, err
	}
	undo.add(s.RemoveDirs)
	if err := n.giveImage(s, root.image, undo); err != nil {
		return yurt.Sandbox{}, err
	}
	if err := n.launchInit(ctx, s, root.layout, undo, phases); err != nil {
		return yurt.Sandbox{}, err
	}
	undo.add(func() error { s.Close(); return nil })
	undo.add(func() error { n.layers.Release(s.ID()); return nil })
	if err := n.equip(ctx, s, spec, to, phases); err != nil {
		return yurt.Sandbox{}, err
	}
	if err := n.register(s, phases); err != nil {
		return yurt.Sandbox{}, err
	}
	n.warmLater(s, to)
	n.demand.Made(s.Digest(), s.Template, !to.warm && spec.Warmable())
	return s.View(n.config.Name), nil
}

// equip gives a new sandbox, which nobody knows, what it begins with.
func (n *Node) equip(ctx context.Context, s *Handle, spec yurt.SandboxSpec, to purpose, phases *sandbox.Phases) error {
	if len(spec.Template.Dependencies) > 0 {
		n.furnish(ctx, s)
		phases.Mark("layers")
	}
	n.warmNow(ctx, s, to, phases)
	return s.WriteInitialFiles(spec.Files, phases)
}

// sandboxRoot is the root file system of a sandbox that is about to be made.
type sandboxRoot struct {
	layout   layout.Layout
	image    *images.Image // that it is of; nil for none
	commands []string      // directories of the toolchains' commands, for PATH
}

// rootOf says what is in the root of a sandbox that is about to be made. Its image is kept
// until letGo is called.
func (n *Node) rootOf(ctx context.Context, spec yurt.SandboxSpec, to purpose, phases *sandbox.Phases) (root sandboxRoot, letGo func(), err error) {
	root.image, letGo, err = n.imageOf(ctx, spec.Template, phases)
	if err != nil {
		return root, letGo, err
	}
	var needed []rootfs.Toolchain
	if root.image == nil {
		needed = n.toolchains(ctx, spec.Template.Runtimes)
	}
	root.layout, root.commands, err = n.layout(spec, root.image, needed)
	if err == nil && !to.installs && n.mayInstall(spec) {
		root.layout = packages.WithCommands(root.layout)
	}
	return root, letGo, err
}

// layout says what is in the root of a sandbox, and which directories of the toolchains' commands.
func (n *Node) layout(spec yurt.SandboxSpec, image *images.Image, needed []rootfs.Toolchain) (root layout.Layout, commands []string, err error) {
	if image != nil {
		root, err = rootfs.FromImage(image.Root)
	} else if root, err = rootfs.FromHost(spec.Template.RootFS.HostPaths, n.config.HostPaths); err == nil {
		root, commands = rootfs.Equip(root, needed, n.config.HostPaths)
	}
	if err != nil || spec.Host == nil {
		return root, commands, err
	}
	if root.Devices, err = sandbox.DevicesOf(spec.Host.Devices); err != nil {
		return root, commands, err
	}
	root, err = rootfs.WithMounts(root, spec.Host.Mounts)
	return root, commands, err
}

// admit refuses what this node cannot make.
func (n *Node) admit(spec yurt.SandboxSpec) error {
	if !yurt.ValidID(yurt.SandboxIDPrefix, spec.ID) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "%q is not a sandbox id", spec.ID)
	}
	if level := spec.Template.Isolation.Level; level != yurt.IsolationNamespaces {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "isolation.level", "this node cannot isolate at level %q; it knows %q", level, yurt.IsolationNamespaces)
	}
	if mode := spec.Template.Network.Mode; mode != yurt.NetworkNone {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "network.mode", "this node has no network mode %q; it knows %q", mode, yurt.NetworkNone)
	}
	if err := spec.Host.Validate("host"); err != nil {
		return err
	}
	if err := admitBound(spec); err != nil {
		return err
	}
	return n.admitExtras(spec)
}

// admitBound refuses what no sandbox of this host could be given, be it made or ready.
func admitBound(spec yurt.SandboxSpec) error {
	if err := yurt.ValidateFiles(sandbox.FilesField, spec.Files); err != nil {
		return err
	}
	return admitResources(spec)
}

// admitResources refuses limits that this host cannot hold: beyond what it has, a
// limit is none.
func admitResources(spec yurt.SandboxSpec) error {
	r := spec.Resources
	if err := r.Validate("resources"); err != nil {
		return err
	}
	if r.CPU == 0 || r.Memory == 0 || r.Disk == 0 || r.PIDs == 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "resources", "a sandbox needs a limit for each of cpu, memory, disk and pids")
	}
	if r.CPU > float64(runtime.NumCPU()) {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.cpu", "%v cores were asked for, the node has %d", r.CPU, runtime.NumCPU())
	}
	if most, err := maxPIDs(); err != nil || r.PIDs > most {
		return errors.Join(err, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.pids", "%d processes were asked for, the node's kernel has at most %d in all", r.PIDs, most))
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return fmt.Errorf("reading the host's memory: %w", err)
	}
	total := yurt.Size(info.Totalram) * yurt.Size(info.Unit)
	if r.Memory > total {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.memory", "%s was asked for, the node has %s", r.Memory, total)
	}
	if !spec.Limits().OnDisk() && r.Disk > total {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.disk", "%s was asked for, and workspaces are held in memory, of which the node has %s", r.Disk, total)
	}
	return nil
}

// maxPIDs returns how many processes and threads the kernel can have at once.
func maxPIDs() (int, error) {
	text, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		return 0, fmt.Errorf("reading how many processes the kernel can have: %w", err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("reading how many processes the kernel can have: %w", err)
	}
	return most, nil
}

// launchInit makes the sandbox's cgroups, starts its init in them, and returns when it answers.
func (n *Node) launchInit(ctx context.Context, s *Handle, layout layout.Layout, undo *rollback, phases *sandbox.Phases) (err error) {
	born := n.makeBirthplace(s, layout, undo)
	defer func() {
		if err != nil && born.err == nil && yurt.CodeOf(err) != yurt.CodeLimitNotEnforceable {
			err = yurt.Errorf(yurt.CodeSandboxFailed, "starting sandbox %s: %w", s.ID(), err)
		}
	}()
	defer born.done()
	files, err := s.InitFiles(n.filter)
	if err != nil {
		return err
	}
	defer descriptor.CloseAll(files)
	spec, err := n.ociSpec(ctx, s, layout)
	if err != nil {
		return err
	}
	reply, err := n.launcher.Create(ctx, launch.CreateRequest{
		ID: s.ID(), Spec: spec, Layout: layout,
		Binds: sandbox.BindsOf(s.Record.Spec.Host), Network: sandbox.NetworkOf(s.Record.Spec.Host),
	}, files, born.take)
	born.done()
	if err != nil {
		return err
	}
	phases.Add(map[string]float64{"cgroup": sandbox.Millis(born.took)})
	phases.Add(reply.Phases)
	phases.Mark("launch")
	return n.awaitInit(ctx, s, reply.PID, phases)
}

// awaitInit returns when the init that was started answers.
func (n *Node) awaitInit(ctx context.Context, s *Handle, pid int, phases *sandbox.Phases) (err error) {
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

// register makes a new sandbox known, on disk first.
func (n *Node) register(s *Handle, phases *sandbox.Phases) error {
	s.Record.Phases = phases.Done()
	if err := records.Write(s.Path(sandbox.RecordFile), s.Record); err != nil {
		return err
	}
	if err := n.keep(s); err != nil {
		return err
	}
	n.offer(s)
	return nil
}

// rollback undoes the steps that were taken, last first.
type rollback struct{ steps []func() error }

func (r *rollback) add(step func() error) { r.steps = append(r.steps, step) }

func (r *rollback) run(err error) error {
	for i := len(r.steps) - 1; i >= 0; i-- {
		err = errors.Join(err, r.steps[i]())
	}
	return err
}
