package wire

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

type signal struct {
	Sandbox string      `json:"sandbox"`
	Process procid.ID   `json:"process"`
	Signal  yurt.Signal `json:"signal"`
}

func (r *signal) do(_ context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.Signal(r.Sandbox, r.Process, r.Signal)
}

type killInit struct{ sandbox }

func (r *killInit) do(_ context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.KillInit(r.Sandbox)
}

// Signal implements [broker.Broker].
func (c *Client) Signal(sandboxID string, process procid.ID, number yurt.Signal) error {
	return c.value(context.Background(), kindSignal, &signal{sandboxID, process, number}, nil)
}

// KillInit implements [broker.Broker].
func (c *Client) KillInit(sandboxID string) error {
	return c.value(context.Background(), kindKillInit, &killInit{sandbox{sandboxID}}, nil)
}
