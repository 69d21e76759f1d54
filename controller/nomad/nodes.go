package nomad

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/controller/cluster"
)

var _ cluster.NodeTeller = (*Engine)(nil)

// NodesNotReady implements cluster.NodeTeller. A forced drain has no deadline: it is over before a session could get a
// notice.
func (e *Engine) NodesNotReady(ctx context.Context) (map[string]cluster.EngineNode, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stubs, err := e.nodesWhere(ctx, `SchedulingEligibility == "`+api.NodeSchedulingIneligible+`" or Status != "`+api.NodeStatusReady+`"`)
	if err != nil {
		return nil, err
	}
	known := map[string]cluster.EngineNode{}
	var away []string
	for _, stub := range stubs {
		says := known[stub.Name]
		if stub.Status != api.NodeStatusReady {
			says.Status = stub.Status
			away = append(away, stub.Name)
		}
		if stub.Drain {
			node, _, err := e.client.Nodes().Info(stub.ID, e.query(ctx))
			if err != nil {
				return nil, explain(fmt.Sprintf("asking when node %s is to be drained", stub.Name), err)
			}
			if strategy := node.DrainStrategy; strategy != nil {
				says.Drains, says.EndsBy = true, strategy.ForceDeadline
			}
		}
		if says != (cluster.EngineNode{}) {
			known[stub.Name] = says
		}
	}
	return known, e.forgetReplaced(ctx, known, away)
}

// forgetReplaced takes the status from nodes that Nomad knows twice by one name, once as ready:
// a client that has lost its data registers anew, and its earlier self is down for a day.
func (e *Engine) forgetReplaced(ctx context.Context, known map[string]cluster.EngineNode, away []string) error {
	if len(away) == 0 {
		return nil
	}
	named := make([]string, len(away))
	for i, name := range away {
		named[i] = "Name == " + strconv.Quote(name)
	}
	ready, err := e.nodesWhere(ctx, `Status == "`+api.NodeStatusReady+`" and (`+strings.Join(named, " or ")+`)`)
	if err != nil {
		return err
	}
	for _, stub := range ready {
		says := known[stub.Name]
		says.Status = ""
		known[stub.Name] = says
	}
	return nil
}

func (e *Engine) nodesWhere(ctx context.Context, filter string) ([]*api.NodeListStub, error) {
	q := e.query(ctx)
	q.Filter = filter
	stubs, _, err := e.client.Nodes().List(q)
	if err != nil {
		return nil, explain("listing the nodes that are not ready", err)
	}
	return stubs, nil
}
