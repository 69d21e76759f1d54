package node

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/admission"
	"github.com/yurtrun/yurt/executor/budget"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// admitter refuses sandboxes that this host cannot make.
type admitter struct {
	stateDir string
	cgroups  Cgroups
	all      budget.Bounds
}

// admit refuses a sandbox that no node of this version, or not this host, can make.
func (a *admitter) admit(spec yurt.SandboxSpec) error {
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
	if err := a.admitBound(spec); err != nil {
		return err
	}
	return a.admitExtras(spec)
}

// admitBound refuses files and resources that no sandbox of this host can have, new or ready.
func (a *admitter) admitBound(spec yurt.SandboxSpec) error {
	if err := yurt.ValidateFiles(sandbox.FilesField, spec.Files); err != nil {
		return err
	}
	return a.admitResources(spec)
}

// admitResources refuses limits above the resources that this host has for sandboxes, since such a limit would limit no process.
func (a *admitter) admitResources(spec yurt.SandboxSpec) error {
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
	return a.all.Admit(spec.Limits())
}

// admitExtras refuses limits that only some nodes can hold, if this one cannot.
func (a *admitter) admitExtras(spec yurt.SandboxSpec) error {
	r := spec.Limits()
	if err := r.Validate("resources"); err != nil {
		return err
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("reading the node's limit of open files: %w", err)
	}
	if uint64(r.Ulimits.NoFile) > files.Max {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.ulimits.nofile", "%d was asked for, the node's own processes have %d", r.Ulimits.NoFile, files.Max)
	}
	if err := a.admitDisk(r); err != nil {
		return err
	}
	if r.IOWeight != 0 {
		return a.cgroups.CheckIO()
	}
	return nil
}

// admitDisk refuses a workspace that is larger than the free space of the node. The disk can still be full later: several
// sandboxes may be promised the same space.
func (a *admitter) admitDisk(r yurt.Resources) error {
	var err error
	switch r.DiskKind {
	case yurt.DiskImage:
		err = disk.Check()
	case yurt.DiskQuota:
		err = disk.CheckQuota(a.stateDir)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	free, err := disk.Free(a.stateDir)
	if err != nil {
		return err
	}
	if r.Disk > free {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.disk", "%s was asked for, the node's disk has %s left", r.Disk, free)
	}
	return nil
}

// retryMemory is how long a caller does best to wait that is refused for want of memory.
const retryMemory = 5 * time.Second

// takeRoom enters a sandbox that is about to be made. It refuses a sandbox whose memory would be promised beyond the node's
// overcommit. The memory of a slot was promised with the slot. The caller calls the table's end.
func (n *Node) takeRoom(id string, options createOptions) error {
	n.promises.Lock() // so that two do not take the same room
	defer n.promises.Unlock()
	if options.slot == nil {
		if err := n.admitMemory(options.memory); err != nil {
			return err
		}
	}
	return n.table.begin(id, options)
}

// admitMemory refuses more memory than may still be promised.
func (n *Node) admitMemory(more yurt.Size) error {
	all := n.config.All
	promised, most := n.promised().Memory, all.Promisable()
	if more <= most-promised {
		return nil
	}
	return admission.Overloaded(retryMemory, "%s of memory were asked for, and this node has promised its sandboxes %s of the %s that it may (--memory-overcommit %v of --total-memory %s); end some, or ask for less",
		more, promised, most, all.Overcommit, all.Memory)
}

// takeReady takes a sandbox that is ready for the claim; nil if there is none. A claim can have more memory than its sandbox had,
// as far as the node may promise it.
func (n *Node) takeReady(spec yurt.SandboxSpec) *Handle {
	n.promises.Lock()
	defer n.promises.Unlock()
	room := max(0, n.config.All.Promisable()-n.promised().Memory)
	s := n.reserves.Take(spec.Template.Digest(), func(s *Handle) bool { return s.admits(spec) == nil && s.growth(spec) <= room })
	if s != nil {
		s.claimed.Store(int64(spec.Resources.Memory))
	}
	return s
}

// growth returns the memory that a claim of the sandbox would add to the node's promises.
func (s *Handle) growth(spec yurt.SandboxSpec) yurt.Size {
	if s.slot != nil {
		return 0
	}
	return max(0, spec.Resources.Memory-s.Record.Spec.Resources.Memory)
}

// promised adds up the processors and the memory of all slots and sandboxes, those included that are being made.
func (n *Node) promised() (sum yurt.Resources) {
	promise := func(r yurt.Resources) {
		sum.CPU += r.CPU
		sum.Memory += r.Memory
	}
	for _, sl := range n.slots.List() {
		if sl.View().State != yurt.SlotEnded {
			promise(sl.Spec.Resources)
		}
	}
	sandboxes, making := n.table.all()
	for _, s := range sandboxes {
		delete(making, s.ID())
		if s.slot == nil && !s.IsGone() {
			r := s.Resources()
			r.Memory = max(r.Memory, yurt.Size(s.claimed.Load()))
			promise(r)
		}
	}
	for _, options := range making {
		if options.slot == nil {
			promise(yurt.Resources{Memory: options.memory})
		}
	}
	return sum
}
