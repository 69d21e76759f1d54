package driver

import (
	"context"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
)

// leastInterval is how often the use of a task is measured at most.
const leastInterval = 100 * time.Millisecond

// TaskStats implements the service: the use of the task's cgroup, at once and then at the interval, until it ends.
func (s *driverServer) TaskStats(req *drivers.TaskStatsRequest, stream drivers.Driver_TaskStatsServer) error {
	t, err := s.driver.find(req.GetTaskId())
	if err != nil {
		return err
	}
	ctx := stream.Context()
	var last yurt.SandboxStats
	for {
		stats, err := t.stats(ctx)
		if gone(err) || ctx.Err() != nil {
			return nil //nolint:nilerr // the task has ended, or the caller has left
		}
		if err == nil {
			if err := stream.Send(&drivers.TaskStatsResponse{Stats: statsOf(t.id, last, stats)}); err != nil {
				return err
			}
			last = stats
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(leastInterval, req.GetCollectionInterval().AsDuration())):
		}
	}
}

func (t *task) stats(ctx context.Context) (stats yurt.SandboxStats, err error) {
	if t.handle.Slot != "" {
		return t.slotStats(ctx)
	}
	err = t.node.Call(ctx, func(c *api.Client) error {
		stats, err = c.SandboxStats(ctx, t.handle.Sandbox)
		return err
	})
	return stats, err
}

// statsOf is the use since the last time in Nomad's form.
func statsOf(id string, last, now yurt.SandboxStats) *drivers.TaskStats {
	cpu := &drivers.CPUUsage{MeasuredFields: []drivers.CPUUsage_Fields{drivers.CPUUsage_PERCENT, drivers.CPUUsage_TOTAL_TICKS}}
	if elapsed := now.At.Sub(last.At); !last.At.IsZero() && elapsed > 0 {
		cores := (now.CPUSeconds - last.CPUSeconds) / elapsed.Seconds()
		cpu.Percent = 100 * cores
		cpu.TotalTicks = cores * coreMHz()
	}
	memory := &drivers.MemoryUsage{
		Rss: uint64(now.MemoryBytes), Usage: uint64(now.MemoryBytes), MaxUsage: uint64(now.MemoryPeakBytes),
		MeasuredFields: []drivers.MemoryUsage_Fields{drivers.MemoryUsage_RSS, drivers.MemoryUsage_USAGE, drivers.MemoryUsage_MAX_USAGE},
	}
	return &drivers.TaskStats{Id: id, Timestamp: timestamppb.New(now.At), AggResourceUsage: &drivers.TaskResourceUsage{Cpu: cpu, Memory: memory}}
}
