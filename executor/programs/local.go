package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/executor/trees"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/oomscore"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/binary"
)

// most is how many programs there may be at once: the runtimes of a node, and the unpackers of its pulls.
const most = 256

// Config is the settings of a [Local].
type Config struct {
	PluginDir string            // language runtimes
	Checksums map[string]string // of their binaries, by name; nil means any
	Unpacker  string            // the binary of the unpacker
	Files     string            // the binary that serves files of sandboxes
	ImagesDir string            // the store of images
}

// Local starts programs in this process, which must be root. They end with it. Its methods may be called concurrently.
type Local struct {
	config Config
	open   func() (*confine.Starter, error)

	mu      sync.Mutex
	last    uint64
	running map[uint64]*running
	closed  bool

	filesMu sync.Mutex // held while a process that serves files is started
	files   uint64     // the number of the present one
}

var _ Requests = (*Local)(nil)

// running is a program until it is awaited.
type running struct {
	cmd   *exec.Cmd
	end   binary.End    // set before ended is closed
	ended chan struct{} // also released
}

// New returns a Local, which makes no cgroup before the first program. The caller calls Close.
func New(config Config) *Local {
	return &Local{config: config, open: sync.OnceValues(confine.New), running: make(map[uint64]*running)}
}

// Prepare readies the start of programs, so that the first one waits for less.
func (l *Local) Prepare() error {
	_, err := l.open()
	return err
}

// Close ends all programs, and starts no other.
func (l *Local) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.EndAll()
	if starter, err := l.open(); err == nil {
		starter.Close()
	}
}

// EndAll ends all programs, whose caller has ended, and returns when they are gone.
func (l *Local) EndAll() {
	l.mu.Lock()
	all := l.running
	l.running = make(map[uint64]*running)
	l.mu.Unlock()
	for _, r := range all {
		_ = r.cmd.Process.Kill() // it may have ended
	}
	for _, r := range all {
		<-r.ended
	}
}

// StartRuntime implements [Requests].
func (l *Local) StartRuntime(request binary.Request) (Program, error) {
	env, err := request.Env()
	if err != nil {
		return Program{}, err
	}
	file, err := binary.Find(l.config.PluginDir, request.Name, l.config.Checksums)
	if err != nil {
		return Program{}, err
	}
	defer file.Close()
	if err := binary.CheckForOthers(file); err != nil {
		return Program{}, err
	}
	cmd := command(plugins.BinaryPrefix+request.Name, env)
	return l.start(cmd, outputs(cmd), func(s *confine.Starter) (dir *os.File, release func() error, err error) { return s.Start(cmd, file) })
}

// StartUnpacker implements [Requests].
func (l *Local) StartUnpacker(request Unpacking) (Program, error) {
	if request.FileBytes <= 0 {
		return Program{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "file_bytes", "%d is no bound of a file; give one above 0", request.FileBytes)
	}
	tree, err := trees.OpenNew(l.config.ImagesDir, request.Image)
	if err != nil {
		return Program{}, err
	}
	started, err := l.unpackInto(tree, request.FileBytes)
	if err != nil {
		tree.Close()
	}
	return started, err
}

// unpackInto starts an unpacker with a directory of the store, which is closed when the unpacker has ended and its files are the store's.
func (l *Local) unpackInto(tree *os.File, fileBytes int64) (Program, error) {
	var store unix.Stat_t
	if err := unix.Fstat(int(tree.Fd()), &store); err != nil {
		return Program{}, fmt.Errorf("starting the unpacker: %w", err)
	}
	file, err := os.Open(l.config.Unpacker)
	if err != nil {
		return Program{}, fmt.Errorf("starting the unpacker: %w", err)
	}
	defer file.Close()
	cmd := command(confine.Unpacker, []string{"GOMEMLIMIT=192MiB"})
	return l.start(cmd, append([]pipe{input(cmd)}, outputs(cmd)...), func(s *confine.Starter) (*os.File, func() error, error) {
		release, err := s.StartIn(cmd, file, tree, fileBytes)
		if err != nil {
			return nil, nil, err
		}
		return nil, func() error {
			defer tree.Close()
			return errors.Join(release(), handBack(tree, store))
		}, nil
	})
}

func command(name string, env []string) *exec.Cmd {
	return &exec.Cmd{Args: []string{name}, Env: env, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
}

// start starts a program with pipes, and enters it on the list.
func (l *Local) start(cmd *exec.Cmd, pipes []pipe, begin func(*confine.Starter) (*os.File, func() error, error)) (Program, error) {
	starter, err := l.open()
	if err != nil {
		return Program{}, err
	}
	ours, theirs, err := connect(pipes)
	defer descriptor.CloseAll(theirs)
	if err != nil {
		return Program{}, err
	}
	dir, release, err := begin(starter)
	if err != nil {
		descriptor.CloseAll(ours)
		return Program{}, err
	}
	if dir != nil {
		ours = append(ours, dir)
	}
	program, err := l.enlist(cmd, release, asHelper(cmd))
	if err != nil {
		descriptor.CloseAll(ours)
		return Program{}, err
	}
	program.Files = ours
	return program, nil
}

// asHelper has the kernel end a program no later than others when the host has no memory left, though this process goes last.
func asHelper(cmd *exec.Cmd) error {
	return oomscore.Set(cmd.Process.Pid, oomscore.Helper) // its number is its own until it is waited for
}

// enlist enters a program that was started on the list, unless it was not set up.
func (l *Local) enlist(cmd *exec.Cmd, release func() error, err error) (Program, error) {
	r := &running{cmd: cmd, ended: make(chan struct{})}
	go r.attend(release)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, os.ErrNotExist) { // it has ended
		err = nil
	}
	var id uint64
	if err == nil {
		id, err = l.enter(r)
	}
	if err != nil {
		_ = cmd.Process.Kill() // it may have ended
		<-r.ended
		return Program{}, err
	}
	return Program{ID: id, PID: cmd.Process.Pid}, nil
}

// enter puts a program on the list.
func (l *Local) enter(r *running) (id uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down; use another")
	}
	if len(l.running) >= most {
		return 0, yurt.Errorf(yurt.CodeOverloaded, "there are %d language runtimes, unpackers and servers of files, and at most %d may be; wait until one has ended", len(l.running), most)
	}
	l.last++
	l.running[l.last] = r
	return l.last, nil
}

// attend waits for the program and gives back all that it had.
func (r *running) attend(release func() error) {
	_ = r.cmd.Wait() // the state has it
	if status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.end.Signal = int(status.Signal())
	} else {
		r.end.Code = r.cmd.ProcessState.ExitCode()
	}
	if err := release(); err != nil {
		r.end.Remark = err.Error()
	}
	close(r.ended)
}

// AwaitProgram implements [Requests].
func (l *Local) AwaitProgram(ctx context.Context, id uint64) (binary.End, error) {
	r, err := l.find(id)
	if err != nil {
		return binary.End{}, err
	}
	select {
	case <-r.ended:
	case <-ctx.Done():
		return binary.End{}, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, id)
	return r.end, nil
}

// KillProgram implements [Requests]. It is the first of its namespace of processes, which ends with it.
func (l *Local) KillProgram(id uint64) error {
	r, err := l.find(id)
	if err != nil {
		return err
	}
	if err := r.cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (l *Local) find(id uint64) (*running, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.running[id]; r != nil {
		return r, nil
	}
	return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "program", "%d is no program that runs; give the number of one that was started, before it was waited for", id)
}

// pipe is one of a program's streams.
type pipe struct {
	give  func(*os.File) // to the program
	input bool
}

func input(cmd *exec.Cmd) pipe {
	return pipe{give: func(file *os.File) { cmd.Stdin = file }, input: true}
}

func outputs(cmd *exec.Cmd) []pipe {
	return []pipe{{give: func(file *os.File) { cmd.Stdout = file }}, {give: func(file *os.File) { cmd.Stderr = file }}}
}

// connect makes the pipes. The caller closes the ends of the program, also after an error.
func connect(pipes []pipe) (ours, theirs []*os.File, err error) {
	for _, p := range pipes {
		read, write, err := os.Pipe()
		if err != nil {
			descriptor.CloseAll(ours)
			return nil, theirs, fmt.Errorf("making a pipe for a program: %w", err)
		}
		if p.input {
			read, write = write, read
		}
		ours, theirs = append(ours, read), append(theirs, write)
		p.give(write)
	}
	return ours, theirs, nil
}
