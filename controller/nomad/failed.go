package nomad

import (
	"context"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
)

var _ cluster.Teller = (*Engine)(nil)

// Failed implements cluster.Teller: a slot has failed whose allocation has, which may be
// before its driver ever told the node's executor of it.
func (e *Engine) Failed(ctx context.Context, slotID string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	allocations, _, err := e.client.Jobs().Allocations(jobID(slotID), false, e.query(ctx))
	if err != nil {
		return nil //nolint:nilerr // it is unclear then
	}
	for _, a := range allocations {
		if a.ClientStatus == api.AllocClientStatusFailed && a.DesiredStatus == api.AllocDesiredStatusRun {
			return yurt.Errorf(yurt.CodeSandboxFailed, "the slot failed on node %s: Nomad says: %s", a.NodeName, strings.Join(lastWords(a), "; "))
		}
	}
	return nil
}

// lastEvents are those of a failed task that say why: that it failed, and that it is not
// tried again.
const lastEvents = 2

// lastWords is what Nomad says last of each task of an allocation that has failed.
func lastWords(a *api.AllocationListStub) []string {
	words := []string{a.ClientDescription}
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
