package wire

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// Start implements [broker.Broker].
func (c *Client) Start(ctx context.Context, r broker.StartRequest) (broker.Started, error) {
	var value startAnswer
	files, err := c.ask(ctx, kindStart, &start{r}, &value)
	if err != nil {
		return broker.Started{}, err
	}
	started := value.Started
	if started.Next, err = c.runOf(kindStart, value.newRunAnswer, files); err != nil {
		return broker.Started{}, err
	}
	started.Gauge = c.cgroups.GaugeOf(r.ID)
	return started, nil
}

// RemoveDisk implements [broker.Broker].
func (c *Client) RemoveDisk(sandboxID string) error {
	return c.value(context.Background(), kindRemoveDisk, &removeDisk{sandbox{sandboxID}}, nil)
}

// Open implements [broker.Broker].
func (c *Client) Open(sandboxID string, at ...broker.Place) ([]*os.File, error) {
	files, err := c.ask(context.Background(), kindOpen, &open{sandboxID, at}, nil)
	if err != nil {
		return nil, err
	}
	if len(files) != len(at) {
		return nil, unexpected(kindOpen, files)
	}
	return files, nil
}

// Resize implements [broker.Broker].
func (c *Client) Resize(sandboxID string, from, to yurt.Resources) error {
	if math.IsNaN(to.CPU) || math.IsInf(to.CPU, 0) { // which no message can hold
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.cpu", "%v is no number of cores; give one above 0", to.CPU)
	}
	return c.value(context.Background(), kindResize, &resize{sandboxID, from, to}, nil)
}

// Mount implements [broker.Broker].
func (c *Client) Mount(sandboxID string, t broker.Tree) error {
	return c.value(context.Background(), kindMount, &mount{tree{sandboxID, t.Layer, t.View}}, nil)
}

// Shows implements [broker.Broker].
func (c *Client) Shows(sandboxID string, t broker.Tree) (bool, error) {
	var shown bool
	err := c.value(context.Background(), kindShows, &shows{tree{sandboxID, t.Layer, t.View}}, &shown)
	return shown, err
}

// Listen implements [broker.Broker].
func (c *Client) Listen(sandboxID string) (net.Listener, error) {
	file, err := c.file(kindListen, &listen{sandbox{sandboxID}})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("listening in sandbox %s: %w", sandboxID, err)
	}
	return listener, nil
}

// Freeze implements [broker.Cgroups].
func (c *Client) Freeze(ctx context.Context, sandboxID string) error {
	return c.value(ctx, kindFreeze, &freeze{sandbox{sandboxID}}, nil)
}

// Thaw implements [broker.Cgroups].
func (c *Client) Thaw(sandboxID string) error {
	return c.value(context.Background(), kindThaw, &thaw{sandbox{sandboxID}}, nil)
}

// End implements [broker.Cgroups].
func (c *Client) End(ctx context.Context, sandboxID string) error {
	return c.value(ctx, kindEnd, &end{sandbox{sandboxID}}, nil)
}

// NewRun implements [broker.RunCgroups].
func (c *Client) NewRun(sandboxID string, r broker.RunRequest) (broker.Run, error) {
	return c.run(kindNewRun, &newRun{sandboxID, r.ID, r.Place, r.Ahead})
}

// run asks for a request whose answer is the files of a run; there may be no file.
func (c *Client) run(k kind, r request) (broker.Run, error) {
	var value newRunAnswer
	files, err := c.ask(context.Background(), k, r, &value)
	if err != nil {
		return broker.Run{}, err
	}
	return c.runOf(k, value, files)
}

// runOf takes the files over, also when it fails.
func (c *Client) runOf(k kind, value newRunAnswer, files []*os.File) (broker.Run, error) {
	if value.Births < 0 || value.Births > len(files) {
		return broker.Run{}, unexpected(k, files)
	}
	if len(files) == 0 {
		return broker.Run{}, nil
	}
	usage, err := c.meter(k, files[value.Births:])
	if err != nil {
		descriptor.CloseAll(files[:value.Births])
		return broker.Run{}, err
	}
	return broker.Run{Birth: files[:value.Births], Usage: usage}, nil
}

// meter takes the files over, also when it fails.
func (c *Client) meter(k kind, files []*os.File) (*broker.Meter, error) {
	usage, err := c.cgroups.MeterOf(files)
	if err != nil {
		descriptor.CloseAll(files)
		return nil, fmt.Errorf("taking the answer to a request %q: %w", k, err)
	}
	return usage, nil
}

// NameRun implements [broker.RunCgroups].
func (c *Client) NameRun(sandboxID, runID string) error {
	return c.value(context.Background(), kindNameRun, &nameRun{run{sandboxID, runID}}, nil)
}

// OpenRun implements [broker.RunCgroups].
func (c *Client) OpenRun(sandboxID, runID string) (*broker.Meter, error) {
	files, err := c.ask(context.Background(), kindOpenRun, &openRun{run{sandboxID, runID}}, nil)
	if err != nil {
		return nil, err
	}
	return c.meter(kindOpenRun, files)
}

// KillRun implements [broker.RunCgroups].
func (c *Client) KillRun(ctx context.Context, sandboxID, runID string) error {
	return c.value(ctx, kindKillRun, &killRun{run{sandboxID, runID}}, nil)
}

// EndRun implements [broker.RunCgroups].
func (c *Client) EndRun(sandboxID, runID string) (broker.Run, error) {
	return c.run(kindEndRun, &endRun{run{sandboxID, runID}})
}

// NewPlace implements [broker.RunCgroups].
func (c *Client) NewPlace(sandboxID, place string) (*os.File, error) {
	return c.file(kindNewPlace, &newPlace{run{sandboxID, place}})
}

// EndPlace implements [broker.RunCgroups].
func (c *Client) EndPlace(ctx context.Context, sandboxID, place string) error {
	return c.value(ctx, kindEndPlace, &endPlace{run{sandboxID, place}}, nil)
}

// Gauge implements [broker.RunCgroups].
func (c *Client) Gauge(sandboxID string) (broker.Gauge, error) {
	if err := c.value(context.Background(), kindGauge, &gauge{sandbox{sandboxID}}, nil); err != nil {
		return nil, err
	}
	return c.cgroups.GaugeOf(sandboxID), nil
}

// WatchMemory implements [broker.RunCgroups].
func (c *Client) WatchMemory(sandboxID string) (broker.Alarm, error) {
	files, err := c.ask(context.Background(), kindWatchMemory, &watchMemory{sandbox{sandboxID}}, nil)
	if err != nil {
		return nil, err
	}
	if len(files) > 1 {
		return nil, unexpected(kindWatchMemory, files)
	}
	var file *os.File
	if len(files) == 1 {
		file = files[0]
	}
	alarm, err := c.cgroups.AlarmOf(sandboxID, file)
	if err != nil {
		descriptor.CloseAll(files)
		return nil, err
	}
	return alarm, nil
}
