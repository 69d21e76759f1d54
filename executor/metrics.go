package executor

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/figures"
)

// Metrics shows the node to Prometheus.
func (e *Executor) Metrics() prometheus.Collector { return e.Figures().Collector(e.read) }

// read takes the state of the node for [Executor.Metrics].
func (e *Executor) read(ctx context.Context) (figures.Reading, error) {
	capacity, err := e.Capacity(ctx)
	if err != nil {
		return figures.Reading{}, err
	}
	total, err := e.groups.Total()
	if err != nil {
		return figures.Reading{}, err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(e.config.StateDir, &fs); err != nil {
		return figures.Reading{}, fmt.Errorf("looking for free space: %w", err)
	}
	reading := figures.Reading{
		Capacity: capacity, Load: e.Load(), CPU: total.CPU, Memory: total.Memory, PIDs: total.PIDs,
		Free: yurt.Size(fs.Bavail) * yurt.Size(fs.Bsize), Disk: yurt.Size(fs.Blocks) * yurt.Size(fs.Bsize), Caches: map[string]figures.Cache{},
	}
	for name, taken := range map[string]func() (bytes, limit int64, err error){"packages": e.layers.Taken, "images": e.images.Taken} {
		bytes, limit, err := taken()
		if err != nil {
			return figures.Reading{}, err
		}
		reading.Caches[name] = figures.Cache{Bytes: bytes, Limit: limit}
	}
	return reading, nil
}
