package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/files"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/shortage"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/pidfd"
)

const (
	// InitTimeout bounds how long yurt-init may take to answer.
	InitTimeout = 10 * time.Second
	// DestroyTimeout bounds how long it may take to end a sandbox's processes.
	DestroyTimeout = 10 * time.Second
)

// Sandbox is the live handle of a sandbox; the part that must last is in its record. Packages above this one embed it
// and add the state of their processes.
type Sandbox struct {
	Dir      string // of its record and its logs, in memory
	Store    string // of its overflowing logs, and of its workspace where that is on disk; made with the first of them
	Template string // the name of its template
	Record   Record
	Broker   broker.Broker
	Gauge    broker.Gauge // set once its cgroup is there
	Init     *initd.Client
	Files    *files.Dir    // /workspace, as the sandbox's user
	Temp     *files.Dir    // /tmp, likewise
	Plans    *files.Dir    // where executions' own files go, as the sandbox's root
	Image    *images.Image // of its root; may be nil

	Process InitProcess
	Gone    chan struct{} // closed when it has died or is being destroyed
	// Shortage bounds how often its processes are ended for want of memory.
	Shortage shortage.Guard
	// Installable says that commands of the session may install packages; it does not change.
	Installable bool

	// Gate is held for reading to start a process, and for writing to pause, to resume or to start a
	// process that must be alone. A caller takes it before the lock.
	Gate sync.RWMutex

	id, digest string
	server     *files.Client

	mu sync.Mutex // see Lock
	// Dead says why its init is gone; "" while it is there.
	Dead string
	// Ending says that it is being destroyed: no process is started in it any more.
	Ending bool
	// Planned are the layers of its template; nil before they were asked for.
	Planned packages.Layers
	found   map[string]map[string]string // paths of tools, by runtime and name
	mounted map[string]struct{}          // layers, by digest
	next    broker.Run                   // of the cgroup that was made ahead; empty without one
	closed  bool                         // see Close
}

// New returns the handle of the sandbox that the record describes. The sandbox need not exist yet.
func New(record Record, by broker.Broker, server *files.Client, dirs broker.Dirs) *Sandbox {
	template := record.Spec.Template
	return &Sandbox{
		id: record.Spec.ID, digest: template.Digest(), server: server, Template: template.Name,
		Dir: dirs.RecordDir(record.Spec.ID), Store: dirs.StoreDir(record.Spec.ID), Record: record, Broker: by, Installable: record.Installable,
		Init:    initd.NewClient(filepath.Join(dirs.RecordDir(record.Spec.ID), broker.InitSocket)),
		Process: InitProcess{Gone: make(chan struct{})}, Gone: make(chan struct{}),
		Shortage: shortage.Guard{Path: filepath.Join(dirs.RecordDir(record.Spec.ID), shortageFile)},
	}
}

// Base returns the sandbox as this package has it, of a handle that embeds it.
func (s *Sandbox) Base() *Sandbox { return s }

// Lock takes the lock of the sandbox. It guards the fields from Dead on, the record once others know
// the sandbox, and the state that packages above add. It is held for moments only.
func (s *Sandbox) Lock() { s.mu.Lock() }

// Unlock gives the lock back.
func (s *Sandbox) Unlock() { s.mu.Unlock() }

// InitProcess is the sandbox's init, as the host sees it. File is nil before OpenProcess.
type InitProcess struct {
	*pidfd.File
	Gone chan struct{} // closed when it has ended
}

// Names of files in a sandbox's directories.
const (
	RunsDir    = "runs"    // a log for each execution, of its name
	KernelsDir = "kernels" // a record for each interpreter that keeps state
	DebtsDir   = "debts"   // a record for each context whose next execution gets a fresh one
	// shortageFile counts the processes that ran out of memory.
	shortageFile = "shortage.json"
)

// IsGone reports whether the sandbox has died or is being destroyed.
func (s *Sandbox) IsGone() bool {
	select {
	case <-s.Gone:
		return true
	default:
		return false
	}
}

// ID is its id.
func (s *Sandbox) ID() string { return s.id }

// Digest is that of its template.
func (s *Sandbox) Digest() string { return s.digest }

// Resources returns the limits that it has.
func (s *Sandbox) Resources() yurt.Resources {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Record.Spec.Resources
}

// MakeDir makes the sandbox's directory. Without a record in it, it is half made.
func (s *Sandbox) MakeDir() error {
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		return fmt.Errorf("making the sandbox's directory: %w", err)
	}
	if err := os.Mkdir(s.Path(RunsDir), 0o700); err != nil {
		return fmt.Errorf("making the sandbox's directory: %w", err)
	}
	return nil
}

// Path returns the path of a file in the sandbox's directory.
func (s *Sandbox) Path(name string) string { return filepath.Join(s.Dir, name) }

// RemoveDirs removes the directories of a sandbox. The one that its record was in goes last.
func (s *Sandbox) RemoveDirs() error {
	return errors.Join(s.Broker.RemoveDisk(s.id), os.RemoveAll(s.Dir))
}

// Open opens the directories inside, once init is there.
func (s *Sandbox) Open() (err error) {
	tops, err := s.Broker.Open(s.id, broker.Workspace, broker.Temp, broker.Runs)
	if err != nil {
		return err
	}
	defer descriptor.CloseAll(tops)
	base := int(s.Record.IDBase)
	open := func(top *os.File, at broker.Place, uid, gid int) (*files.Dir, error) {
		return s.server.Open(top, func() (*os.File, error) { return s.OpenPlace(at) }, base+uid, base+gid)
	}
	if s.Files, err = open(tops[0], broker.Workspace, rootfs.UserID, rootfs.GroupID); err != nil {
		return err
	}
	if s.Temp, err = open(tops[1], broker.Temp, rootfs.UserID, rootfs.GroupID); err != nil {
		return err
	}
	s.Plans, err = open(tops[2], broker.Runs, 0, 0)
	return err
}

// OpenPlace opens one directory inside. The caller closes it.
func (s *Sandbox) OpenPlace(at broker.Place) (*os.File, error) {
	files, err := s.Broker.Open(s.id, at)
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// OpenProcess gets hold of init. Its number may be another's by the time it ended.
func (s *Sandbox) OpenProcess() error {
	file, err := pidfd.Open(s.Record.Init.PID)
	if err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "watching sandbox %s: %w", s.id, err)
	}
	if !s.Record.Init.Alive() {
		file.Close()
		return yurt.Errorf(yurt.CodeSandboxFailed, "sandbox %s ended at once: %s", s.id, s.LastWords())
	}
	s.Process.File = file
	return nil
}

// Close closes the descriptors of the handle; the sandbox lives on.
func (s *Sandbox) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range []*files.Dir{s.Files, s.Temp, s.Plans} {
		if d != nil {
			d.Close()
		}
	}
	if s.Process.File != nil {
		s.Process.Close()
	}
	s.Init.Close()
	s.next.Close()
	s.next, s.closed = broker.Run{}, true
}

// CheckUsable returns an error if the sandbox cannot be used.
func (s *Sandbox) CheckUsable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.Dead != "":
		return yurt.Errorf(yurt.CodeSandboxFailed, "sandbox %s is gone: %s", s.id, s.Dead)
	case s.Record.Warm:
		return yurt.Errorf(yurt.CodeSandboxNotFound, "sandbox %s is in the reserve, to be claimed first", s.id)
	case s.Ending:
		return yurt.Errorf(yurt.CodeSandboxNotFound, "sandbox %s is being destroyed", s.id)
	}
	return nil
}

// CheckAlive returns an error if the sandbox is gone. It is CheckUsable for the processes that the
// executor itself starts, also in a sandbox that has no owner yet.
func (s *Sandbox) CheckAlive() error {
	if s.IsGone() {
		return yurt.Errorf(yurt.CodeSandboxNotFound, "sandbox %s is gone", s.id)
	}
	return nil
}

// IsEnding reports whether the sandbox is being destroyed.
func (s *Sandbox) IsEnding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Ending
}

// Detach ends the watch over init, unless it was killed and its end is waited for.
func (s *Sandbox) Detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Ending {
		s.Process.Close()
	}
}

// View is the node's description of the sandbox.
func (s *Sandbox) View(node string) yurt.Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := yurt.Sandbox{
		ID: s.id, Template: s.Record.Spec.Template.Name, Node: node, State: yurt.SandboxReady,
		PID: s.Record.Init.PID, CreatedAt: s.Record.CreatedAt,
		Labels: s.Record.Spec.Labels, Phases: s.Record.Phases, Warm: s.Record.Warm, Slot: s.Record.Slot,
	}
	if s.Record.PausedAt != nil {
		view.State = yurt.SandboxPaused
	}
	if s.Dead != "" {
		view.State, view.Reason = yurt.SandboxDead, s.Dead
	}
	return view
}

// LastWords returns the end of yurt-init's standard error, bounded: it comes from inside the sandbox.
func (s *Sandbox) LastWords() string {
	const limit = 500
	file, err := os.Open(s.Path(broker.InitLog))
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

// End ends everything in the cgroup of a sandbox.
func End(by broker.Cgroups, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), DestroyTimeout)
	defer cancel()
	return by.End(ctx, id)
}
