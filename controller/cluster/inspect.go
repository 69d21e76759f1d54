package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
)

// NodeList implements contract.NodePlacer.
func (p *Placer) NodeList(context.Context) ([]yurt.NodeInfo, error) {
	known := p.view.Nodes()
	list := make([]yurt.NodeInfo, len(known))
	for i, n := range known {
		list[i] = yurt.NodeInfo{
			Name: n.Name, Address: n.Address, Healthy: n.Healthy, Draining: n.Draining, Warm: n.Warm,
			Slots: n.Open, Claimed: n.Claimed, Free: n.Free, Memory: n.Capacity.Memory, UpdatedAt: n.UpdatedAt,
			NomadStatus: n.Engine,
		}
		if !n.EndsBy.IsZero() {
			list[i].EndsBy = &n.EndsBy
		}
	}
	return list, nil
}

// Warnings implements contract.Placer.
func (p *Placer) Warnings() []string {
	live, since, err := p.view.Status()
	if live {
		return nil
	}
	age := time.Since(since).Round(time.Second)
	return []string{fmt.Sprintf("what is known of the nodes is %s old, since what it is made from does not answer; sessions and warm sandboxes go on: %v", age, err)}
}
