package node

import (
	"runtime"
	"sync"
	"time"

	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// birthplace is the cgroups that a new sandbox's init is born into. They are made while the
// rest of what it takes to start it is.
type birthplace struct {
	cgroups launch.Cgroups
	took    time.Duration
	err     error         // of the host, which refuses the limits
	made    chan struct{} // is closed when they are there, or err
	making  sync.WaitGroup
}

// makeBirthplace begins to make the sandbox's cgroups, and what goes with them. What runs in
// them when they are undone ends.
func (n *Node) makeBirthplace(s *Handle, layout layout.Layout, undo *rollback) *birthplace {
	b := &birthplace{made: make(chan struct{})}
	undo.add(func() error {
		if b.making.Wait(); s.Group == nil {
			return nil
		}
		return sandbox.DestroyGroup(s.Group)
	})
	b.making.Go(func() {
		began := time.Now()
		b.cgroups, b.err = n.makeGroup(s, layout)
		b.took = time.Since(began)
		close(b.made)
		runtime.Gosched() // who waits for them goes first
		if b.err == nil {
			n.runs.PrepareLeaf(s.ForRun()) // while init starts
		}
	})
	return b
}

// take returns the cgroups when they are there. Their files are the caller's.
func (b *birthplace) take() (launch.Cgroups, error) {
	<-b.made
	cgroups := b.cgroups
	b.cgroups = launch.Cgroups{}
	return cgroups, b.err
}

// done returns when nothing more is made, and closes the files if nobody took them.
func (b *birthplace) done() {
	b.making.Wait()
	descriptor.CloseAll(b.cgroups.Births)
	descriptor.CloseAll(b.cgroups.Homes)
}

// makeGroup makes the sandbox's cgroups, and returns what init and its forking thread enter
// them by.
func (n *Node) makeGroup(s *Handle, layout layout.Layout) (cgroups launch.Cgroups, err error) {
	limits := sandbox.LimitsOf(s.Record.Spec)
	limits.Devices = sandbox.DeviceRules(layout.Devices)
	if s.Group, err = n.cgroups.Create(s.ID(), limits); err != nil {
		return cgroups, err
	}
	if cgroups.Births, err = s.Group.BirthFiles(); err != nil {
		return cgroups, err
	}
	cgroups.Homes, err = s.Group.HomeFiles()
	return cgroups, err
}
