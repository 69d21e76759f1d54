package wire

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/yurtrun/yurt/executor/broker"
)

type freeze struct{ sandbox }

func (r *freeze) do(ctx context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.Freeze(ctx, r.Sandbox)
}

type thaw struct{ sandbox }

func (r *thaw) do(_ context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.Thaw(r.Sandbox)
}

type end struct{ sandbox }

func (r *end) do(ctx context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.End(ctx, r.Sandbox)
}

type newRun struct {
	Sandbox string `json:"sandbox"`
	Run     string `json:"run"`
	Place   string `json:"place,omitempty"`
	Ahead   bool   `json:"ahead,omitempty"`
}

// newRunAnswer says which of the files are which: those of the birth come first, and then those with the usage.
type newRunAnswer struct {
	Births int `json:"births"`
}

func (r *newRun) do(_ context.Context, by broker.Broker) (reply, error) {
	made, err := by.NewRun(r.Sandbox, broker.RunRequest{ID: r.Run, Place: r.Place, Ahead: r.Ahead})
	return runReply(made, err)
}

// runReply is the reply with the files of a run; there may be no file.
func runReply(made broker.Run, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return reply{value: newRunAnswer{len(made.Birth)}, files: made.Files(), close: made.Close}, nil
}

type nameRun struct{ run }

func (r *nameRun) do(_ context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.NameRun(r.Sandbox, r.Run)
}

type openRun struct{ run }

func (r *openRun) do(_ context.Context, by broker.Broker) (reply, error) {
	usage, err := by.OpenRun(r.Sandbox, r.Run)
	if err != nil {
		return reply{}, err
	}
	return reply{files: usage.Files(), close: usage.Close}, nil
}

type killRun struct{ run }

func (r *killRun) do(ctx context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.KillRun(ctx, r.Sandbox, r.Run)
}

type endRun struct{ run }

func (r *endRun) do(_ context.Context, by broker.Broker) (reply, error) {
	return runReply(by.EndRun(r.Sandbox, r.Run))
}

type newPlace struct{ run }

func (r *newPlace) do(_ context.Context, by broker.Broker) (reply, error) {
	return passed(by.NewPlace(r.Sandbox, r.Run))
}

type endPlace struct{ run }

func (r *endPlace) do(ctx context.Context, by broker.Broker) (reply, error) {
	return reply{}, by.EndPlace(ctx, r.Sandbox, r.Run)
}

// gauge asks whether there is a sandbox. Its usage is in files that every process may read.
type gauge struct{ sandbox }

func (r *gauge) do(_ context.Context, by broker.Broker) (reply, error) {
	_, err := by.Gauge(r.Sandbox)
	return reply{}, err
}

type watchMemory struct{ sandbox }

func (r *watchMemory) do(_ context.Context, by broker.Broker) (reply, error) {
	alarm, err := by.WatchMemory(r.Sandbox)
	if err != nil {
		return reply{}, err
	}
	out := reply{close: alarm.Close}
	if file := alarm.File(); file != nil {
		out.files = []*os.File{file}
	}
	return out, nil
}

// fileOf returns a descriptor of a listener, which the caller closes beside it.
func fileOf(listener net.Listener) (*os.File, error) {
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("passing a listener on: it is a %T", listener)
	}
	file, err := tcp.File()
	if err != nil {
		return nil, fmt.Errorf("passing a listener on: %w", err)
	}
	return file, nil
}
