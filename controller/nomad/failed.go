package nomad

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
)

var _ cluster.Teller = (*Engine)(nil)

// Where implements cluster.Teller. The node is that of the newest allocation that runs or is
// going to: Nomad replaces one that it placed on a node which it lost before the allocation
// began. A slot without such an allocation has failed. Its driver may never have told the
// node's executor of it, and an operator may have stopped it.
func (e *Engine) Where(ctx context.Context, slotID string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	allocations, _, err := e.client.Jobs().Allocations(jobID(slotID), false, e.query(ctx))
	switch {
	case err != nil:
		return "", nil //nolint:nilerr // where it is, is unclear
	case len(allocations) == 0:
		return "", yurt.Errorf(yurt.CodeSandboxFailed, "the slot's job was removed from Nomad")
	}
	slices.SortFunc(allocations, func(a, b *api.AllocationListStub) int { return cmp.Compare(b.CreateIndex, a.CreateIndex) })
	if i := slices.IndexFunc(allocations, runs); i >= 0 {
		return allocations[i].NodeName, nil
	}
	last := allocations[0]
	return "", yurt.Errorf(yurt.CodeSandboxFailed, "the slot has ended on node %s: Nomad says: %s", last.NodeName, strings.Join(lastWords(last), "; "))
}

// runs reports whether an allocation does, or is going to.
func runs(a *api.AllocationListStub) bool {
	switch a.ClientStatus {
	case api.AllocClientStatusComplete, api.AllocClientStatusFailed, api.AllocClientStatusLost:
		return false
	default:
		return a.DesiredStatus == api.AllocDesiredStatusRun
	}
}

// lastEvents are those of a failed task that say why: that it failed, and that it is not
// tried again.
const lastEvents = 2

// lastWords is Nomad's last message about an allocation, and about each failed task of it.
func lastWords(a *api.AllocationListStub) []string {
	words := []string{cmp.Or(a.ClientDescription, a.DesiredDescription, "it is "+a.ClientStatus)}
	for name, task := range a.TaskStates {
		if !task.Failed {
			continue
		}
		for _, event := range task.Events[max(0, len(task.Events)-lastEvents):] {
			words = append(words, name+": "+event.DisplayMessage)
		}
	}
	return words[:min(len(words), maxWords)]
}
