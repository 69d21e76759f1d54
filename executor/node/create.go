package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/admission"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/statedir"
)

// CreateSandbox makes a sandbox and returns when it is ready. When it fails or ctx
// ends, neither processes nor files are left behind. The answer says how long each phase took.
func (n *Node) CreateSandbox(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
	return n.make(ctx, spec, createOptions{})
}

// createOptions says whether a sandbox is for a caller, the reserve or the node itself. The zero value is a sandbox that a caller waits for.
type createOptions struct {
	warm     bool      // for the reserve, or for the slot
	slot     *slot     // may be nil
	installs bool      // for the node's own installation of packages
	memory   yurt.Size // its limit, which begin fills in
	share    string    // of the specification, likewise
}

// urgent reports whether a caller waits for the sandbox.
func (o createOptions) urgent() bool { return o.slot == nil || o.slot.Spec.For != "" }

// hurried returns a channel that is closed when a caller begins to wait for the sandbox; nil if no caller can.
func (o createOptions) hurried() <-chan struct{} {
	if o.slot == nil {
		return nil
	}
	return o.slot.Hurrying()
}

// record returns the record of a sandbox that is made with the options.
func (o createOptions) record(spec yurt.SandboxSpec, base uint32) sandbox.Record {
	spec.Files = nil // the workspace has them
	r := sandbox.Record{Version: records.Version, Spec: spec, IDBase: base, CreatedAt: time.Now(), Warm: o.warm, Installs: o.installs}
	if o.slot != nil {
		r.Slot = o.slot.Spec.ID
	}
	return r
}

// make makes a sandbox, step by step; a step that fails undoes the earlier ones.
func (n *Node) make(ctx context.Context, spec yurt.SandboxSpec, options createOptions) (_ yurt.Sandbox, err error) {
	if err := n.admitter.admit(spec); err != nil {
		return yurt.Sandbox{}, err
	}
	if err := n.disks.Check(); err != nil {
		return yurt.Sandbox{}, err
	}
	defer n.disks.Explain(&err)
	if options.urgent() {
		defer n.processors.Hold()()
	}
	phases := sandbox.NewPhases(ctx)
	root, letGo, err := n.roots.rootOf(ctx, spec, options, phases)
	defer letGo()
	if err != nil {
		return yurt.Sandbox{}, err
	}
	done, err := n.begin(ctx, spec, options)
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
	record := options.record(spec, base)
	record.Installable = root.parts.Installs
	s := n.newHandle(record, options.slot)
	if err := s.MakeDir(); err != nil {
		return yurt.Sandbox{}, err
	}
	undo.add(s.RemoveDirs)
	if err := n.roots.giveImage(s, root.image, undo); err != nil {
		return yurt.Sandbox{}, err
	}
	if err := n.start(ctx, s, root.parts, undo, phases); err != nil {
		return yurt.Sandbox{}, err
	}
	undo.add(func() error { n.layers.Release(s.ID()); return nil })
	if err := n.provision(ctx, s, spec, options, phases); err != nil {
		return yurt.Sandbox{}, err
	}
	if err := n.register(s, phases); err != nil {
		return yurt.Sandbox{}, err
	}
	n.warmer.warmLater(s, options)
	n.demand.Made(s.Digest(), s.Template, !options.warm && spec.Warmable())
	return s.View(n.config.Name), nil
}

// start has the broker start the init of a new sandbox, and returns when init answers.
func (n *Node) start(ctx context.Context, s *Handle, root broker.RootParts, undo *rollback, phases *sandbox.Phases) error {
	spec := s.Record.Spec
	started, err := n.broker.Start(ctx, broker.StartRequest{
		ID: s.ID(), Limits: spec.Limits(), Isolation: spec.Template.Isolation, Host: spec.Host,
		IDBase: s.Record.IDBase, Root: root,
	})
	if err != nil {
		if said := s.LastWords(); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return err
	}
	s.Started(started)
	undo.add(func() error { return sandbox.End(s.Broker, s.ID()) })
	undo.add(func() error { s.Close(); return nil })
	phases.Add(started.Phases)
	phases.Mark("launch")
	ctx, cancel := context.WithTimeout(ctx, sandbox.InitTimeout)
	defer cancel()
	if err := s.Init.Ping(ctx); err != nil {
		return startFailed(s, fmt.Errorf("%w: %s", err, s.LastWords()))
	}
	phases.Mark("init")
	if err := s.Open(); err != nil {
		return startFailed(s, err)
	}
	return nil
}

func startFailed(s *Handle, err error) error {
	return yurt.Errorf(yurt.CodeSandboxFailed, "starting sandbox %s: %w", s.ID(), err)
}

// provision gives a new sandbox, which is not registered yet, its layers, interpreter and files.
func (n *Node) provision(ctx context.Context, s *Handle, spec yurt.SandboxSpec, options createOptions, phases *sandbox.Phases) error {
	if len(spec.Template.Dependencies) > 0 {
		n.provisioner.addLayers(ctx, s)
		phases.Mark("layers")
	}
	n.warmer.warmNow(ctx, s, options, phases)
	return s.WriteInitialFiles(spec.Files, phases)
}

// register enters a new sandbox, on disk first.
func (n *Node) register(s *Handle, phases *sandbox.Phases) error {
	s.Record.Phases = phases.Done()
	if err := records.Write(s.Path(statedir.Record), s.Record); err != nil {
		return err
	}
	if err := n.keep(s); err != nil {
		return err
	}
	n.offer(s)
	return nil
}

// begin waits until a sandbox may be made: so many are made at once, and so many wait. The node's Close waits for creates that have
// begun. The caller calls done.
func (n *Node) begin(ctx context.Context, spec yurt.SandboxSpec, options createOptions) (done func(), err error) {
	if n.drain.isSet() {
		return nil, errDraining()
	}
	id := spec.ID
	options.memory, options.share = spec.Resources.Memory, spec.Share
	if err := n.takeRoom(id, options); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.table.ctx, cancel)()
	err = n.creates.Enter(ctx, spec.Share, options.urgent(), options.hurried())
	if err == nil {
		return func() { n.creates.Leave(); n.table.end(id) }, nil
	}
	n.table.end(id)
	switch {
	case n.table.ctx.Err() != nil:
		err = sandbox.ErrShuttingDown()
	case errors.Is(err, admission.ErrDisplaced):
		err = queueFull(n.config.MaxQueue)
	}
	return nil, err
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

// keep makes a sandbox one of this node's, and watches over it.
func (n *Node) keep(s *Handle) error {
	if err := s.OpenProcess(); err != nil {
		return err
	}
	goroutines := []func(){func() { n.watchInit(s) }}
	if s.Installable {
		goroutines = append(goroutines, func() { n.provisioner.servePackages(s) })
	}
	return n.table.add(s, func() {
		if s.slot != nil {
			s.slot.Fill(s)
		}
		n.changes.Notify(s.slotID())
	}, goroutines...)
}

// offer lets a sandbox be claimed that is ready and has no owner.
func (n *Node) offer(s *Handle) {
	s.Lock()
	defer s.Unlock()
	if s.Record.Warm && !s.IsGone() { // a sandbox that was dropped must not come back
		n.reserves.Put(s)
	}
	n.changes.Notify(s.slotID())
}
