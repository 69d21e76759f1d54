package executor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/workspace"
	"github.com/yurtrun/yurt/internal/linux/pidfd"
)

// sandbox is the live handle of a sandbox; what must last is in its record.
type sandbox struct {
	id       string
	dir      string // of what is known of it, in memory
	store    string // of what is too large for that, on disk; made when there is something
	template string // the name of its template, and the digest
	digest   string
	slot     *slot // that it is in; nil for none
	record   sandboxRecord
	group    cgroup.Group
	init     *initd.Client
	files    *workspace.Dir // /workspace, as the sandbox's user
	temp     *workspace.Dir // /tmp, likewise
	image    *images.Image  // that its root is; nil for none
	plans    *workspace.Dir // where executions' own files go, as the sandbox's root

	memory        *runlog.Memory // of the node, for logs
	executions    *atomic.Int64  // likewise, that have not ended
	maxExecutions int64

	process initProcess
	gone    chan struct{} // closed when it has died or is being destroyed
	removed chan struct{} // closed when nothing is left of it

	installs packages.Quota
	// installable says that commands of the session may install packages; it does not change.
	installable bool
	adoption    *adoption // nil for one that this executor made

	taken atomic.Bool // it is somebody's, or about to be

	zygotes zygotes
	left    leftLeaves

	gate sync.RWMutex // held to start something, for oneself to pause or resume; before mu

	mu       sync.Mutex
	runs     map[string]*run
	contexts map[contextKey]*sessionContext
	debts    map[contextKey]time.Time     // contexts that are not here yet, and have lost a kernel
	dead     string                       // why its init is gone; "" while it is there
	ending   bool                         // destroyed: nothing new is started, what is left is being removed
	found    map[string]map[string]string // paths of tools, by runtime and name
	mounted  map[string]struct{}          // layers, by digest
	planned  packages.Layers              // of its template; nil before they were asked for
}

// initProcess is the sandbox's init, as the host sees it.
type initProcess struct {
	*pidfd.File
	gone chan struct{} // closed when it has ended
}

// Names of files in a sandbox's directories.
const (
	recordFile = "sandbox.json"
	socketFile = "init.sock"
	initLog    = "init.log"
	runsDir    = "runs"    // a log for each execution, of its name
	kernelsDir = "kernels" // a record for each interpreter that keeps state
	debtsDir   = "debts"   // a record for each context whose next execution gets a fresh one
)

func (e *Executor) newSandbox(record sandboxRecord, group cgroup.Group, in *slot) *sandbox {
	id := record.Spec.ID
	dir := e.dirOf(id)
	s := &sandbox{
		template: record.Spec.Template.Name, digest: record.Spec.Template.Digest(), slot: in,
		memory: e.memory, executions: &e.executions, maxExecutions: int64(e.config.MaxExecutions),
		id: id, dir: dir, store: e.storeOf(id), record: record, group: group, runs: make(map[string]*run), contexts: make(map[contextKey]*sessionContext),
		debts:   make(map[contextKey]time.Time),
		init:    initd.NewClient(filepath.Join(dir, socketFile)),
		process: initProcess{gone: make(chan struct{})}, removed: make(chan struct{}), gone: make(chan struct{}),
	}
	s.installable = record.Installable
	s.taken.Store(!record.Warm)
	s.zygotes.placed = e.cgroups.Version() == 2
	return s
}

// IsGone reports whether the sandbox has died or is being destroyed.
func (s *sandbox) IsGone() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// ID is its id.
func (s *sandbox) ID() string { return s.id }

// Digest is that of its template.
func (s *sandbox) Digest() string { return s.digest }

// SetTaken says that it is somebody's, or nobody's again.
func (s *sandbox) SetTaken(taken bool) { s.taken.Store(taken) }

// IsReady reports whether it can be had, by whoever comes first.
func (s *sandbox) IsReady() bool {
	if s.adoption == nil {
		return true
	}
	select {
	case <-s.adoption.done:
		return true
	default:
		return false
	}
}

// IsTaken reports whether it is somebody's, or about to be.
func (s *sandbox) IsTaken() bool { return s.taken.Load() }

// slotID returns the id of the slot that it is in, "" for none.
func (s *sandbox) slotID() string {
	if s.slot == nil {
		return ""
	}
	return s.slot.Spec.ID
}

func (s *sandbox) path(name string) string { return filepath.Join(s.dir, name) }

// storeOf returns the directory that a sandbox has on disk.
func (e *Executor) storeOf(id string) string {
	return filepath.Join(e.config.StateDir, rundir.Sandboxes, id)
}

// dirOf returns the directory of what is known of a sandbox. Versions without a runtime
// directory had it on disk, and there it stays.
func (e *Executor) dirOf(id string) string {
	if _, err := os.Stat(filepath.Join(e.storeOf(id), recordFile)); err == nil {
		return e.storeOf(id)
	}
	return filepath.Join(e.runDir, rundir.Sandboxes, id)
}

// removeDirs removes the directories of a sandbox. The one that its record was in goes last.
func (s *sandbox) removeDirs() error {
	return errors.Join(removeStore(s.store), os.RemoveAll(s.dir))
}

// open opens the directories inside, once init is there.
func (s *sandbox) open() (err error) {
	base := int(s.record.IDBase)
	pid := s.record.Init.PID
	if s.files, err = workspace.Open(pid, yurt.WorkspaceDir, base+rootfs.UserID, base+rootfs.GroupID); err != nil {
		return err
	}
	if s.temp, err = workspace.Open(pid, tempDir, base+rootfs.UserID, base+rootfs.GroupID); err != nil {
		return err
	}
	s.plans, err = workspace.Open(pid, rootfs.RunDir, base, base)
	return err
}

// openProcess gets hold of init. Its number may be another's by the time it ended.
func (s *sandbox) openProcess() error {
	file, err := pidfd.Open(s.record.Init.PID)
	if err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "watching sandbox %s: %w", s.id, err)
	}
	if !s.record.Init.Alive() {
		file.Close()
		return yurt.Errorf(yurt.CodeSandboxFailed, "sandbox %s ended at once: %s", s.id, s.lastWords())
	}
	s.process.File = file
	return nil
}

// release closes what the handle holds; the sandbox lives on.
func (s *sandbox) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		r.log.Close()
	}
	for _, d := range []*workspace.Dir{s.files, s.temp, s.plans} {
		if d != nil {
			d.Close()
		}
	}
	if s.process.File != nil {
		s.process.Close()
	}
	s.init.Close()
	s.group.Close()
}

// usable returns an error if the sandbox cannot be used.
func (s *sandbox) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.dead != "":
		return yurt.Errorf(yurt.CodeSandboxFailed, "sandbox %s is gone: %s", s.id, s.dead)
	case s.record.Warm:
		return yurt.Errorf(yurt.CodeSandboxNotFound, "sandbox %s is in the reserve, to be claimed first", s.id)
	case s.ending:
		return yurt.Errorf(yurt.CodeSandboxNotFound, "sandbox %s is being destroyed", s.id)
	}
	return nil
}

// lives is usable for what this executor itself starts, in a sandbox that nobody has too.
func (s *sandbox) lives() error {
	if s.IsGone() {
		return yurt.Errorf(yurt.CodeSandboxNotFound, "sandbox %s is gone", s.id)
	}
	return nil
}

func (s *sandbox) isEnding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending
}

// letGo ends the watch over init, unless it was killed and its end is waited for.
func (s *sandbox) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		s.process.Close()
	}
}

// view is what the node says of the sandbox.
func (s *sandbox) view(node string) yurt.Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := yurt.Sandbox{
		ID: s.id, Template: s.record.Spec.Template.Name, Node: node, State: yurt.SandboxReady,
		PID: s.record.Init.PID, CreatedAt: s.record.CreatedAt,
		Labels: s.record.Spec.Labels, Phases: s.record.Phases, Warm: s.record.Warm, Slot: s.record.Slot,
	}
	if s.record.PausedAt != nil {
		view.State = yurt.SandboxPaused
	}
	if s.dead != "" {
		view.State, view.Reason = yurt.SandboxDead, s.dead
	}
	return view
}

// lastWords returns the end of what yurt-init wrote to its standard error, bounded:
// it comes from inside the sandbox.
func (s *sandbox) lastWords() string {
	const limit = 500
	file, err := os.Open(s.path(initLog))
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	buf := make([]byte, limit)
	n, err := file.ReadAt(buf, max(0, info.Size()-limit))
	if n == 0 && err != nil {
		return ""
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(buf[:n])), "�")
}
