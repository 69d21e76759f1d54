package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/hugepage"
	"github.com/yurtrun/yurt/internal/linux/flock"
)

// Launcher is a running launcher process. Its methods may be called concurrently.
type Launcher struct {
	path      string
	initBin   string
	transient bool
	lock      string // held by the process, for as long as it is there
	logger    *slog.Logger

	mu      sync.Mutex
	process *process // nil until needed, and after it died
	closed  bool
}

// New returns a Launcher that will run the binary at path and give sandboxes the yurt-init at initBin. The process is started
// when it is first needed, and again if it died. Transient sandboxes end with this process, in any way that it ends.
//
// One launcher process at a time holds the file at lock. A launcher that a killed executor left may be in the middle of a create
// for a moment: New's process waits for it, so that no sandbox comes into being behind the back of the clean-up.
func New(path, initBin, lock string, transient bool, logger *slog.Logger) *Launcher {
	return &Launcher{path: path, initBin: initBin, lock: lock, transient: transient, logger: logger}
}

// Cgroups are the v1 tasks files of a sandbox's cgroups. v2 has no such files.
type Cgroups struct {
	Births []*os.File // that init is born into
	Homes  []*os.File // of its forking thread
}

// Create makes a sandbox. The files are passed as they are and stay the caller's. Once begun it does not end with ctx: until the
// launcher has answered, threads of it are in the sandbox's cgroups and start processes there, and no clean-up would be
// possible.
//
// makeCgroups makes the cgroups during the launcher's first steps. Create closes the files that it returns. If it fails, so does
// Create, with its error.
func (l *Launcher) Create(ctx context.Context, req CreateRequest, files []*os.File, makeCgroups func() (Cgroups, error)) (Reply, error) {
	return l.call(ctx, Request{Create: &req}, files, func(p *process, id uint64) error {
		cgroups, err := makeCgroups()
		handed := slices.Concat(cgroups.Births, cgroups.Homes)
		defer func() {
			for _, f := range handed {
				f.Close()
			}
		}()
		birth := &BirthRequest{Births: len(cgroups.Births), Homes: len(cgroups.Homes), Aborted: err != nil}
		return errors.Join(err, p.send(Request{ID: id, Birth: birth}, handed))
	})
}

// Filter returns the compiled seccomp filter with the groups of calls of those names.
func (l *Launcher) Filter(ctx context.Context, groups []string) ([]byte, error) {
	reply, err := l.call(ctx, Request{Filter: &FilterRequest{Groups: groups}}, nil, func(*process, uint64) error { return nil })
	return reply.Filter, err
}

// Close stops the launcher; sandboxes live on.
func (l *Launcher) Close() error {
	l.mu.Lock()
	p := l.process
	l.process, l.closed = nil, true
	l.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.close()
}

// answerTimeout bounds how long the launcher may take, on the busiest machine.
const answerTimeout = time.Minute

// call asks for something, and goes on with it by follow before it waits for the answer.
func (l *Launcher) call(ctx context.Context, req Request, files []*os.File, follow func(p *process, id uint64) error) (Reply, error) {
	if err := ctx.Err(); err != nil {
		return Reply{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	p, err := l.running()
	if err != nil {
		return Reply{}, err
	}
	id, answer, err := p.begin(req, files)
	if err != nil {
		return Reply{}, fmt.Errorf("asking the launcher: %w", err)
	}
	followed := follow(p, id)
	reply, err := p.await(ctx, answer)
	if err := cmp.Or(followed, err); err != nil {
		return Reply{}, err
	}
	if reply.Error != "" {
		return Reply{}, errors.New(reply.Error)
	}
	return reply, nil
}

// running returns the launcher's process, and starts one if need be.
func (l *Launcher) running() (*process, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("the launcher is closed")
	}
	if l.process != nil && l.process.alive() {
		return l.process, nil
	}
	p, err := l.start()
	if err != nil {
		return nil, fmt.Errorf("starting the launcher: %w", err)
	}
	l.process = p
	return p, nil
}

// process is one life of the launcher.
type process struct {
	conn *net.UnixConn
	cmd  *exec.Cmd
	done chan struct{} // closed when no more replies come, after end is set
	end  error         // how it ended

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan<- Reply
}

func (l *Launcher) start() (*process, error) {
	lock, err := lockAfterOthers(l.lock)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	sealed, err := sealedCopy(l.path)
	if err != nil {
		return nil, err
	}
	defer sealed.Close()
	if err := hugepage.Collapse(sealed); err != nil { // it is only slower
		l.logger.Debug("the launcher has small pages", "error", err)
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	//nolint:noctx // it lives as long as its connection, not as a request
	cmd := exec.Command("/proc/self/fd/"+strconv.Itoa(SelfFD), "-init", l.initBin, fmt.Sprintf("-transient=%t", l.transient))
	cmd.Args[0] = "yurt-launcher"
	cmd.ExtraFiles = []*os.File{theirs, sealed, lock}
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "GOMAXPROCS=" + os.Getenv("GOMAXPROCS")}
	cmd.Stderr = logWriter{l.logger}
	// A mount namespace of its own, which follows the host's mounts; a session of its own, so that no terminal's signal reaches
	// its children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	p := &process{conn: ours, cmd: cmd, done: make(chan struct{}), waiting: make(map[uint64]chan<- Reply)}
	go p.receive()
	return p, nil
}

// lockAfterOthers locks the file, for all holders of the descriptor or a copy of it.
func lockAfterOthers(path string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600) // others may write to its directory
	if err != nil {
		return nil, fmt.Errorf("making the launcher's lock: %w", err)
	}
	if err := flock.Take(lock, answerTimeout); err != nil {
		return nil, errors.Join(fmt.Errorf("an earlier launcher is still there (it holds %s): %w", path, err), lock.Close())
	}
	return lock, nil
}

func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a socket pair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "launcher")
	ours := os.NewFile(uintptr(fds[0]), "launcher")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return conn.(*net.UnixConn), theirs, nil
}

// sealedCopy copies the binary into memory that no process can write to any more, so that a sandbox cannot change it for the
// others.
func sealedCopy(path string) (*os.File, error) {
	src, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	fd, err := unix.MemfdCreate("yurt-launcher", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // Linux before 6.3 has no MFD_EXEC and needs no flag
		fd, err = unix.MemfdCreate("yurt-launcher", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("copying %s into memory: %w", path, err)
	}
	file := os.NewFile(uintptr(fd), "yurt-launcher")
	if _, err := io.Copy(file, src); err != nil {
		return nil, errors.Join(fmt.Errorf("copying %s into memory: %w", path, err), file.Close())
	}
	if err := seal(file); err != nil {
		return nil, errors.Join(fmt.Errorf("sealing the copy of %s: %w", path, err), file.Close())
	}
	return file, nil
}

// seal seals the file. The kernel refuses while it has one of its pages in hand elsewhere, as it may for a
// moment.
func seal(file *os.File) (err error) {
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	for range 10 {
		if _, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// begin sends the first request of an ID, and returns where the answer to all of that ID
// comes.
func (p *process) begin(req Request, files []*os.File) (id uint64, _ <-chan Reply, err error) {
	answer := make(chan Reply, 1)
	p.mu.Lock()
	p.last++
	req.ID = p.last
	p.waiting[req.ID] = answer
	p.mu.Unlock()
	if err := p.send(req, files); err != nil {
		p.mu.Lock()
		delete(p.waiting, req.ID)
		p.mu.Unlock()
		return 0, nil, err
	}
	return req.ID, answer, nil
}

func (p *process) await(ctx context.Context, answer <-chan Reply) (Reply, error) {
	select {
	case reply := <-answer:
		return reply, nil
	case <-p.done:
		return Reply{}, fmt.Errorf("the launcher ended: %w", p.end)
	case <-ctx.Done():
		// It hangs. Killed it can do no more, and another is started.
		_ = p.cmd.Process.Kill() // it may have ended by itself
		<-p.done
		return Reply{}, fmt.Errorf("the launcher did not answer: %w", ctx.Err())
	}
}

// send sends a request, whole: the connection keeps messages apart.
func (p *process) send(req Request, files []*os.File) error {
	data, err := json.Marshal(req)
	if err != nil {
		return err
	}
	if len(data) > MaxMessage {
		return fmt.Errorf("a request of %d bytes exceeds %d", len(data), MaxMessage)
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	_, _, err = p.conn.WriteMsgUnix(data, rights, nil)
	return err
}

// receive hands out the replies until the launcher is gone.
func (p *process) receive() {
	defer close(p.done)
	err := p.receiveReplies()
	p.conn.Close()
	p.end = errors.Join(err, p.cmd.Wait())
}

func (p *process) receiveReplies() error {
	buf := make([]byte, MaxMessage)
	for {
		n, err := p.conn.Read(buf)
		if err != nil {
			return err
		}
		if n == 0 {
			return io.EOF
		}
		var reply Reply
		if err := json.Unmarshal(buf[:n], &reply); err != nil {
			return fmt.Errorf("reading a reply: %w", err)
		}
		p.mu.Lock()
		answer := p.waiting[reply.ID]
		delete(p.waiting, reply.ID)
		p.mu.Unlock()
		if answer != nil {
			answer <- reply
		}
	}
}

// close ends the launcher, which leaves when its connection does.
func (p *process) close() error {
	p.conn.CloseWrite() // if that fails it has ended already
	<-p.done
	return nil
}

// logWriter passes the launcher's own messages on.
type logWriter struct{ logger *slog.Logger }

func (w logWriter) Write(data []byte) (int, error) {
	w.logger.Warn("launcher", "says", string(data))
	return len(data), nil
}
