package node

import (
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/admission"
)

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
