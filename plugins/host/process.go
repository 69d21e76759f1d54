package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/oomscore"
)

// drainTime is how long the output of a dead process is still read, for a
// descendant may hold the pipes open.
const drainTime = 200 * time.Millisecond

// maxHandshakeBytes bounds the first line of a plugin; go-plugin's has about 1,000.
const maxHandshakeBytes = 4 << 10

// process is the operating system's side of a plugin. It is go-plugin's [runner.Runner] with more promises: the process dies
// with the host, takes its process group along, can be killed at any moment without a hang, and leaves its exit status and last
// words behind. Safe for concurrent use once made.
type process struct {
	cmd     *exec.Cmd
	starter *starter
	stdout  *handshakeReader
	stderr  *teeReader
	inherit []*os.File // the child's ends of the pipes
	exited  chan struct{}
	wg      sync.WaitGroup

	socketDir string // set before Start; of go-plugin, removed by the host

	confinement Confinement // nil for none
	program     *os.File    // to start under confinement
	dir         *os.File    // of a confined process; set by Start
	release     func() error

	mu       sync.Mutex // guards the fields below
	pid      int        // 0 until started
	gone     bool       // reaped, so that its pid may be somebody else's
	startErr error      // why it could not be started
	killed   error      // why the host killed it, if it did
	status   string     // how it ended
	remark   string     // more about its end
	socket   *os.File   // by which a confined process is reached
}

var _ runner.Runner = (*process)(nil)

// errStopped is the reason of a kill that needs no explanation.
var errStopped = errors.New("was stopped")

// newProcess prepares path to be started under the given name, with the given environment and no variable of the host's.
func newProcess(s *starter, path, name string, env []string) (*process, error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe for a plugin: %w", err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe for a plugin: %w", err), outR.Close(), outW.Close())
	}
	cmd := &exec.Cmd{
		Path:   path,
		Args:   []string{name},
		Env:    env,
		Dir:    "/",
		Stdout: outW,
		Stderr: errW,
		SysProcAttr: &syscall.SysProcAttr{
			Setpgid:   true,
			Pdeathsig: syscall.SIGKILL,
		},
	}
	return &process{
		cmd:     cmd,
		starter: s,
		stdout:  &handshakeReader{pipe: outR},
		stderr:  &teeReader{pipe: errR, done: make(chan struct{})},
		inherit: []*os.File{outW, errW},
		exited:  make(chan struct{}),
	}, nil
}

// Start implements [runner.Runner].
func (p *process) Start(context.Context) error {
	err := p.begin()
	for _, f := range p.inherit {
		f.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.startErr, p.gone, p.status = err, true, "could not be started"
		p.closePipes()
		close(p.exited)
		return err
	}
	p.pid = p.cmd.Process.Pid
	if err := oomscore.Set(p.pid, oomscore.Helper); err != nil { // the server's own is lower
		p.stderr.tail.Write([]byte(err.Error() + "\n")) //nolint:errcheck // it never fails
	}
	if p.killed != nil { // while it was being started
		_ = unix.Kill(-p.pid, unix.SIGKILL) // it exists: it has not been reaped yet
	}
	p.wg.Go(func() { p.reap(p.cmd.Process.Pid) })
	return nil
}

func (p *process) begin() (err error) {
	if p.confinement == nil {
		return p.starter.start(p.cmd)
	}
	p.dir, p.release, err = p.confinement.Start(p.cmd, p.program)
	return err
}

// reap waits for the process and ends the rest of its group. The group is killed before the pid is released, so the signal
// cannot hit a stranger.
func (p *process) reap(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	// The group may be empty already; no other failure is possible.
	_ = unix.Kill(-pid, unix.SIGKILL)
	p.gone = true
	p.mu.Unlock()

	err := p.cmd.Wait()
	select {
	case <-p.stderr.done:
	case <-time.After(drainTime):
	}
	p.closePipes()
	remark := ""
	if p.release != nil {
		if err := p.release(); err != nil {
			remark = "; " + err.Error()
		}
	}
	p.mu.Lock()
	p.status, p.remark = describeExit(err), remark
	p.closeConfined()
	p.mu.Unlock()
	close(p.exited)
}

// closeConfined closes the files of a confined process. The caller holds the lock.
func (p *process) closeConfined() {
	for _, f := range []*os.File{p.dir, p.socket} {
		if f != nil {
			f.Close()
		}
	}
}

func (p *process) closePipes() {
	p.stdout.pipe.Close()
	p.stderr.pipe.Close()
}

// kill ends the process and its group at once. The first reason given is kept; a process that ended
// by itself has no reason.
func (p *process) kill(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	if p.killed == nil {
		p.killed = reason
	}
	if p.pid != 0 {
		_ = unix.Kill(-p.pid, unix.SIGKILL) // it exists: reap sets gone first
	}
}

// hasExited reports whether the process is gone and all it wrote was read.
func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// epitaph says how the process ended, for a sentence: "it exited with code 3; its
// last words: …".
func (p *process) epitaph() string {
	p.mu.Lock()
	killed, status, remark := p.killed, p.status, p.remark
	p.mu.Unlock()
	text := "it " + status
	if killed != nil && status == describeSignal(syscall.SIGKILL) {
		text = "it " + killed.Error()
	}
	text += remark
	if words := p.stderr.tail.String(); words != "" {
		text += "; the last lines of its standard error: " + words
	}
	return text
}

func (p *process) killedFor() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// exitedCleanly reports whether the process ended by itself with code 0.
func (p *process) exitedCleanly() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status == exitedWith(0)
}

// startError returns why the process could not be started at all.
func (p *process) startError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.startErr
}

// Wait implements [runner.Runner]. How the process ended is no error here:
// epitaph tells it.
func (p *process) Wait(context.Context) error {
	<-p.exited
	p.wg.Wait()
	return nil
}

// Kill implements [runner.Runner].
func (p *process) Kill(context.Context) error {
	p.kill(errStopped)
	return nil
}

// Stdout implements [runner.Runner].
func (p *process) Stdout() io.ReadCloser { return p.stdout }

// Stderr implements [runner.Runner].
func (p *process) Stderr() io.ReadCloser { return p.stderr }

// Name implements [runner.Runner].
func (p *process) Name() string { return p.cmd.Path }

// ID implements [runner.Runner].
func (p *process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strconv.Itoa(p.pid)
}

// Diagnose implements [runner.Runner]. The host makes its own diagnosis.
func (p *process) Diagnose(context.Context) string { return "" }

// HostToPlugin implements [runner.Runner]. No runtime connects to the host.
func (p *process) HostToPlugin(network, addr string) (pluginNetwork, pluginAddr string, err error) {
	return network, addr, nil
}

func describeExit(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return exitedWith(0)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return describeSignal(status.Signal())
	}
	return exitedWith(exit.ExitCode())
}

func describeSignal(signal syscall.Signal) string {
	return fmt.Sprintf("was killed by signal %d (%s)", signal, signal)
}

func exitedWith(code int) string { return fmt.Sprintf("exited with code %d", code) }

// handshakeReader passes on the first line and swallows the rest, which is not read but must not
// fill the pipe and block the plugin.
type handshakeReader struct {
	pipe *os.File
	mu   sync.Mutex
	line []byte // guarded by mu: the line as far as it was read
	full bool   // guarded by mu
}

func (r *handshakeReader) Read(into []byte) (int, error) {
	if r.complete() {
		_, _ = io.Copy(io.Discard, r.pipe) // ends when the pipe does, however it does
		return 0, io.EOF
	}
	n, err := r.pipe.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = io.EOF // closed by reap, after the process ended
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line = append(r.line, into[:n]...)
	if end := bytes.IndexByte(r.line, '\n'); end >= 0 {
		r.line, r.full = r.line[:end], true
	}
	if len(r.line) > maxHandshakeBytes {
		r.line, r.full = r.line[:maxHandshakeBytes], true
		return 0, io.EOF
	}
	return n, err
}

func (r *handshakeReader) complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

// text returns the first line, as far as there is one.
func (r *handshakeReader) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimSpace(string(r.line))
}

// Close has no effect: reap closes the pipe.
func (r *handshakeReader) Close() error { return nil }

// teeReader keeps the tail of the data that passes through it.
type teeReader struct {
	pipe *os.File
	tail tail
	once sync.Once
	done chan struct{} // closed at the end
}

func (r *teeReader) Read(into []byte) (int, error) {
	n, err := r.pipe.Read(into)
	_, _ = r.tail.Write(into[:n]) // never fails
	if err != nil {
		r.once.Do(func() { close(r.done) })
		err = io.EOF
	}
	return n, err
}

// Close has no effect: reap closes the pipe.
func (r *teeReader) Close() error { return nil }
