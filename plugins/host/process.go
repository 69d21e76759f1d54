package host

import (
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
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/binary"
)

// drainTime is how long the output of a dead process is still read, for a
// descendant may hold the pipes open.
const drainTime = 200 * time.Millisecond

// process is the operating system's side of a plugin. It is go-plugin's [runner.Runner] with more promises: the process dies
// with the host, takes its process group along, can be killed at any moment without a hang, and leaves its exit status and last
// words behind. Safe for concurrent use once made.
type process struct {
	name   string
	stdout *handshakeReader
	stderr *teeReader
	exited chan struct{}
	wg     sync.WaitGroup

	socketDir string // set before Start; of go-plugin, removed by the host

	// Of a process that this one starts itself.
	cmd     *exec.Cmd
	starter *starter
	inherit []*os.File // the child's files

	// Of a confined process.
	confinement Confinement // nil for a plain process
	request     binary.Request
	confined    binary.Program // set by Start

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

// newPlainProcess prepares the program to be started under the given name, with the given environment and no variable of the host's. It
// takes the file over.
func newPlainProcess(s *starter, program *os.File, name string, env []string) (*process, error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe for a plugin: %w", err), program.Close())
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe for a plugin: %w", err), outR.Close(), outW.Close(), program.Close())
	}
	cmd := &exec.Cmd{
		Path:   fmt.Sprintf("/proc/self/fd/%d", program.Fd()),
		Args:   []string{plugins.BinaryPrefix + name},
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
		name:    program.Name(),
		cmd:     cmd,
		starter: s,
		stdout:  &handshakeReader{pipe: outR},
		stderr:  &teeReader{pipe: errR, done: make(chan struct{})},
		inherit: []*os.File{outW, errW, program},
		exited:  make(chan struct{}),
	}, nil
}

// newConfinedProcess prepares the start of a process by the confinement.
func newConfinedProcess(c Confinement, request binary.Request) *process {
	return &process{
		name: plugins.BinaryPrefix + request.Name, confinement: c, request: request,
		stdout: &handshakeReader{}, stderr: &teeReader{done: make(chan struct{})}, exited: make(chan struct{}),
	}
}

// take takes over the environment that go-plugin wants the process to have. Of it a confined process has the certificate alone from this host.
func (p *process) take(env []string) {
	if p.confinement == nil {
		p.cmd.Env = append(p.cmd.Env, env...)
		return
	}
	for _, variable := range env {
		if certificate, ok := strings.CutPrefix(variable, certificateEnv+"="); ok {
			p.request.Certificate = certificate
		}
	}
}

// certificateEnv is go-plugin's variable for the host's certificate.
const certificateEnv = "PLUGIN_CLIENT_CERT"

// Start implements [runner.Runner].
func (p *process) Start(context.Context) error {
	pid, err := p.begin()
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
	p.pid = pid
	if p.killed != nil { // while it was being started
		p.end()
	}
	p.wg.Go(p.reap)
	return nil
}

// begin starts the process and returns its number.
func (p *process) begin() (pid int, err error) {
	if p.confinement == nil {
		if err := p.starter.start(p.cmd); err != nil {
			return 0, err
		}
		if err := oomscore.Set(p.cmd.Process.Pid, oomscore.Helper); err != nil { // the server's own is lower
			p.stderr.tail.Write([]byte(err.Error() + "\n")) //nolint:errcheck // it never fails
		}
		return p.cmd.Process.Pid, nil
	}
	if p.confined, err = p.confinement.StartRuntime(p.request); err != nil {
		return 0, err
	}
	p.stdout.pipe, p.stderr.pipe = p.confined.Stdout, p.confined.Stderr
	return p.confined.PID, nil
}

// end sends the signal that ends the process and its group. The caller holds the lock, and the process is not gone.
func (p *process) end() {
	if p.confinement != nil {
		p.confined.Kill()
		return
	}
	_ = unix.Kill(-p.pid, unix.SIGKILL) // it exists: reap sets gone first
}

// reap waits for the process, and for its last words.
func (p *process) reap() {
	wait := p.waitPlain
	if p.confinement != nil {
		wait = p.waitConfined
	}
	status, remark := wait()
	select {
	case <-p.stderr.done:
	case <-time.After(drainTime):
	}
	p.closePipes()
	p.mu.Lock()
	p.status, p.remark = status, remark
	p.closeConfined()
	p.mu.Unlock()
	close(p.exited)
}

// waitPlain waits for the process and ends the rest of its group. The group is killed before the pid is released, so the signal
// cannot hit a stranger.
func (p *process) waitPlain() (status, remark string) {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	// The group may be empty already; no other failure is possible.
	_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
	p.gone = true
	p.mu.Unlock()
	return describeExit(p.cmd.Wait()), ""
}

// waitConfined waits for a process that ended with all that it has started.
func (p *process) waitConfined() (status, remark string) {
	end := p.confined.Wait()
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	if end.Remark != "" {
		remark = "; " + end.Remark
	}
	if end.Signal != 0 {
		return describeSignal(syscall.Signal(end.Signal)), remark
	}
	return exitedWith(end.Code), remark
}

// closeConfined closes the files of a confined process. The caller holds the lock.
func (p *process) closeConfined() {
	for _, f := range []*os.File{p.confined.Dir, p.socket} {
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
		p.end()
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
func (p *process) Name() string { return p.name }

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
