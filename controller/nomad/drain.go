package nomad

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/controller/cluster"
)

var _ cluster.Drainer = (*Engine)(nil)

// Draining implements cluster.Drainer. A drain that is forced has no deadline: it is over
// before anybody could be told.
func (e *Engine) Draining(ctx context.Context) (map[string]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	q := e.query(ctx)
	q.Filter = `SchedulingEligibility == "` + api.NodeSchedulingIneligible + `"`
	stubs, _, err := e.client.Nodes().List(q)
	if err != nil {
		return nil, explain("listing the nodes that drain", err)
	}
	drains := map[string]time.Time{}
	for _, stub := range stubs {
		if !stub.Drain {
			continue
		}
		node, _, err := e.client.Nodes().Info(stub.ID, e.query(ctx))
		if err != nil {
			return nil, explain(fmt.Sprintf("asking when node %s is to be drained", stub.Name), err)
		}
		if strategy := node.DrainStrategy; strategy != nil {
			drains[stub.Name] = strategy.ForceDeadline
		}
	}
	return drains, nil
}
