package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/kernel/internal/protocol"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/start"
	"github.com/yurtrun/yurt/plugins"
)

// pausePoll is how often a kernel that is to be started in a paused sandbox looks whether
// that is over.
const pausePoll = 100 * time.Millisecond

// kernelRecord describes a running kernel on disk.
type kernelRecord struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"` // of its process, in yurt-init
	Language  string    `json:"language"`
	Context   string    `json:"context"`
	CreatedAt time.Time `json:"created_at"` // the context, not the kernel
	// Function says that it is the process of a function, which does not outlive the executor.
	Function bool `json:"function,omitempty"`
}

// kernelProcess is a kernel in a sandbox.
type kernelProcess struct {
	engine   *Engine
	sandbox  *Sandbox
	id       string
	usage    *broker.Meter // nil before it has begun
	requests *os.File      // the FIFO
	file     string        // that the request is in which was sent last; "" if it went by the FIFO
	out      *initd.Output
	stop     func() bool // of the watch for our own end
}

var _ protocol.Process = (*kernelProcess)(nil)

func (e *Engine) newKernelProcess(s *Sandbox, id string) *kernelProcess {
	return &kernelProcess{engine: e, sandbox: s, id: id}
}

// startKernel starts a kernel for the context.
func (e *Engine) startKernel(s *Sandbox, c *sessionContext) (_ protocol.Process, err error) {
	info, err := e.runtimes.RuntimeOf(e.ctx, c.key.language)
	if err != nil {
		return nil, err
	}
	if err := e.ensureZygote(e.ctx, s, info); err != nil {
		return nil, err
	}
	if err := e.UntilStartable(s); err != nil {
		return nil, err
	}
	defer s.Gate.RUnlock()
	p := e.newKernelProcess(s, yurt.NewKernelID())
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.InitTimeout)
	defer cancel()
	defer func() {
		switch {
		case err == nil:
		case e.ctx.Err() != nil: // which is why it failed; the next executor goes on
			p.letGo()
			err = protocol.ErrClosing
		default:
			p.Kill()
			p.Close()
		}
	}()
	plan, err := e.planKernel(ctx, s, info, p.id)
	if err != nil {
		return nil, err
	}
	if err := s.WriteFiles(p.id, plan.Files); err != nil {
		return nil, err
	}
	if err := s.Plans.MakePipe(p.requestsPath()); err != nil {
		return nil, err
	}
	if p.requests, err = s.Plans.OpenPipe(p.requestsPath()); err != nil {
		return nil, err
	}
	record := kernelRecord{Version: records.Version, ID: p.id, Language: c.key.language, Context: c.key.name, CreatedAt: c.created}
	if err := s.writeKernelRecord(record); err != nil {
		return nil, err
	}
	zygote := ""
	if e.starter.Forks(s.ForStart(), info) { // it answers where it cannot be the kernel that the template chooses
		zygote = info.Name
	}
	if err := p.start(ctx, zygote, plan, s.kernelEnv(info.Name)); err != nil {
		return nil, err
	}
	p.follow()
	return p, nil
}

// UntilStartable waits while the sandbox is paused. It takes the gate for reading, which
// the caller gives back.
func (e *Engine) UntilStartable(s *Sandbox) error {
	for {
		if err := s.CheckAlive(); err != nil {
			return err
		}
		s.Gate.RLock()
		if !s.IsPaused() {
			return nil
		}
		s.Gate.RUnlock()
		select {
		case <-time.After(pausePoll):
		case <-e.ctx.Done():
			return protocol.ErrClosing
		}
	}
}

func (e *Engine) planKernel(ctx context.Context, s *Sandbox, info yurt.RuntimeInfo, id string) (plugins.KernelPlan, error) {
	tools, err := s.Tools(info)
	if err != nil {
		return plugins.KernelPlan{}, err
	}
	return e.runtimes.PlanKernel(ctx, plugins.KernelRequest{
		Language: info.Name, Dir: path.Join(rootfs.RunDir, id), Tools: tools, Kernel: s.Kernel(info.Name),
		MemoryLimit: s.Record.Spec.Resources.Memory,
	})
}

// kernelEnv is the template's environment for a kernel. One of the template's choice may be among
// its packages, and finds those as it starts; to others only executions bring packages, of
// whichever versions.
func (s *Sandbox) kernelEnv(language string) map[string]string {
	layer := s.TemplateLayer(language)
	if s.Kernel(language) == "" || !s.HasLayers(layer) {
		return s.TemplateEnv()
	}
	return layer.AddTo(yurt.ExecutionSpec{Env: s.TemplateEnv()}).Env
}

// start has the kernel started.
func (p *kernelProcess) start(ctx context.Context, language string, plan plugins.KernelPlan, env map[string]string) error {
	spec := p.sandbox.Record.Spec
	return p.startIn(ctx, language, initd.StartRequest{
		ID: p.id, Argv: plan.Argv, Env: p.sandbox.Environment(env, plan.Env, spec.Env), Dir: yurt.WorkspaceDir,
		UID: rootfs.UserID, GID: rootfs.GroupID, HasControl: true,
		OutputLimit: math.MaxInt64, ControlLimit: math.MaxInt64, // each execution has its own
	}, nil)
}

// startIn starts the process in a cgroup of its own, with the given descriptors.
func (p *kernelProcess) startIn(ctx context.Context, language string, req initd.StartRequest, given []*os.File) (err error) {
	p.out, p.usage, err = p.engine.starter.Start(ctx, p.sandbox.ForStart(), start.Process{StartRequest: req, Given: given, Language: language, Named: true})
	return err
}

// follow ends the reading of the output with the executor.
func (p *kernelProcess) follow() {
	p.stop = context.AfterFunc(p.engine.ctx, p.letGo)
}

// letGo closes the executor's connections to the process, which goes on.
func (p *kernelProcess) letGo() {
	if p.out != nil {
		p.out.Close()
	}
	if p.requests != nil {
		p.requests.Close()
	}
	p.usage.Close()
}

// Send implements protocol.Process. There is room for a request: a kernel that has not read those
// before it has not answered them.
func (p *kernelProcess) Send(request protocol.Request) error {
	line, fits, err := request.Encode()
	if err != nil {
		return err
	}
	if !fits || request.Ask != "" { // the file of a question tells the next executor of it
		base := request.ID
		if request.Ask != "" {
			base = plugins.KernelQuestion
		}
		name := path.Join(p.id, base)
		p.file = name
		if err := p.sandbox.WriteFiles(p.id, []plugins.File{{Path: base, Data: line}}); err != nil {
			return err
		}
		if line, err = protocol.InFile(request.ID, path.Join(rootfs.RunDir, name)); err != nil {
			return err
		}
	}
	if _, err := p.requests.Write(line); err != nil {
		if p.engine.ctx.Err() != nil {
			return protocol.ErrClosing
		}
		return fmt.Errorf("asking a kernel: %w", err)
	}
	return nil
}

// Unread implements protocol.Process. The FIFO, which this process holds open, still has the request.
func (p *kernelProcess) Unread() bool {
	raw, err := p.requests.SyscallConn()
	if err != nil {
		return false
	}
	var n int
	var asked error
	err = raw.Control(func(fd uintptr) { n, asked = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return err == nil && asked == nil && n > 0
}

// answered removes the file of the request, which the kernel has read. Otherwise such files would fill the space that
// all of the sandbox's executions share.
func (p *kernelProcess) answered() {
	if p.file == "" {
		return
	}
	_ = p.sandbox.Plans.RemoveAll(p.file) // a remaining file goes with the kernel
	p.file = ""
}

// Next implements protocol.Process.
func (p *kernelProcess) Next() (initd.Chunk, *initd.Exit, error) {
	chunk, exit, err := p.out.Next()
	if p.engine.ctx.Err() != nil && exit == nil {
		return initd.Chunk{}, nil, protocol.ErrClosing
	}
	return chunk, exit, err
}

// Ack implements protocol.Process.
func (p *kernelProcess) Ack(seq uint64) error { return p.out.Ack(seq) }

// Signal implements protocol.Process.
func (p *kernelProcess) Signal(signal syscall.Signal) error {
	ctx, cancel := context.WithTimeout(p.engine.ctx, sandbox.InitTimeout)
	defer cancel()
	return p.sandbox.Init.Signal(ctx, p.id, signal)
}

// Count implements protocol.Process.
func (p *kernelProcess) Count() (int, error) { return p.sandbox.Gauge.Count(p.id) }

// Alone implements protocol.Process.
func (p *kernelProcess) Alone() (bool, error) { return p.sandbox.Gauge.Alone(p.id) }

// Kill implements protocol.Process. An executor that is closing kills no kernel: calls fail then only because it
// closes, and the next executor goes on with the kernel.
func (p *kernelProcess) Kill() {
	if p.engine.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.engine.ctx, sandbox.DestroyTimeout)
	defer cancel()
	if err := p.sandbox.Broker.KillRun(ctx, p.sandbox.ID(), p.id); err != nil && !broker.Missing(err) && p.engine.ctx.Err() == nil {
		p.engine.logger.Error("killing a kernel", "kernel", p.id, "sandbox", p.sandbox.ID(), "error", err)
	}
	if p.out != nil {
		p.out.Killed(sandbox.InitTimeout)
	}
}

// Close implements protocol.Process. Remaining files go with the sandbox. An executor that is closing leaves the
// record, by which the next one finds the kernel or notices its loss.
func (p *kernelProcess) Close() {
	if p.stop != nil {
		p.stop()
	}
	if p.engine.ctx.Err() != nil {
		p.letGo()
		return
	}
	if p.out != nil {
		p.out.Close()
		ctx, cancel := context.WithTimeout(p.engine.ctx, sandbox.InitTimeout)
		_ = p.sandbox.Init.Forget(ctx, p.id) // a sandbox that is gone forgets everything
		cancel()
	}
	if p.requests != nil {
		p.requests.Close()
	}
	_ = p.sandbox.Plans.RemoveAll(p.id)
	p.usage.Close()
	if !p.sandbox.IsEnding() { // all of it goes
		_ = p.sandbox.EndRun(p.id) // a remaining cgroup goes with the sandbox
	}
	if err := os.Remove(p.sandbox.kernelPath(p.id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		p.engine.logger.Warn("removing the record of a kernel", "kernel", p.id, "error", err)
	}
}

func (p *kernelProcess) requestsPath() string { return path.Join(p.id, plugins.KernelRequests) }

// writeKernelRecord makes the directory of records with the first.
func (s *Sandbox) writeKernelRecord(record kernelRecord) error {
	if err := os.Mkdir(s.Path(sandbox.KernelsDir), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("writing a record: %w", err)
	}
	return records.Write(s.kernelPath(record.ID), record)
}

// kernelPath is where the record of a kernel is.
func (s *Sandbox) kernelPath(id string) string { return filepath.Join(s.Path(sandbox.KernelsDir), id) }

// ensureZygote starts the zygote of a kernel that is about to start, if the zygote can import the packages that the
// kernel would import itself.
func (e *Engine) ensureZygote(ctx context.Context, s *Sandbox, info yurt.RuntimeInfo) error {
	if !s.ImportsAhead(info.Name) || !e.starter.Forks(s.ForStart(), info) {
		return nil
	}
	if err := e.planner.Plan(ctx, s.Base()); err != nil { // the zygote imports from there
		return err
	}
	e.starter.EnsureZygote(s.ForStart(), info.Name)
	return nil
}
