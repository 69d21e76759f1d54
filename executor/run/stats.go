package run

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// Stats measures the sandbox.
func (s *Sandbox) Stats() (yurt.SandboxStats, error) {
	used, err := s.Gauge.Stats()
	if err != nil {
		return yurt.SandboxStats{}, err
	}
	limits := s.Record.Spec.Resources
	stats := yurt.SandboxStats{
		At: time.Now().UTC(), CPUSeconds: used.CPU.Seconds(), CPULimit: limits.CPU,
		MemoryBytes: used.Memory, MemoryPeakBytes: used.MemoryPeak, MemoryLimitBytes: int64(limits.Memory),
		PIDs: used.PIDs, PIDsLimit: limits.PIDs, IOReadBytes: used.Read, IOWriteBytes: used.Wrote,
	}
	pid := s.Record.Init.PID
	disk, err := s.workspaceUse()
	if err != nil {
		return yurt.SandboxStats{}, fmt.Errorf("measuring the workspace: %w", err)
	}
	stats.DiskLimitBytes = int64(disk.Blocks) * disk.Bsize
	stats.DiskBytes = stats.DiskLimitBytes - int64(disk.Bfree)*disk.Bsize
	devices, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	if err != nil {
		return yurt.SandboxStats{}, fmt.Errorf("measuring the network: %w", err)
	}
	stats.NetworkRxBytes, stats.NetworkTxBytes = networkBytes(string(devices))
	return stats, nil
}

// healthPatience bounds the wait for the answer of a sandbox's init, which takes a millisecond.
const healthPatience = 2 * time.Second

// Health asks the sandbox's init for an answer, and measures the sandbox.
func (s *Sandbox) Health(ctx context.Context) (yurt.SandboxHealth, error) {
	view := s.View("")
	health := yurt.SandboxHealth{At: time.Now().UTC(), State: view.State, Reason: view.Reason, OOMKills: s.Shortage.Total()}
	if view.State == yurt.SandboxDead {
		return health, nil
	}
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	began := time.Now()
	if s.Init.Ping(ctx) == nil {
		health.InitAnswers, health.InitMS = true, sandbox.Millis(time.Since(began))
	}
	stats, err := s.Stats()
	if err != nil && !health.InitAnswers {
		return health, nil //nolint:nilerr // the end of the sandbox is not noticed yet
	}
	health.Usage = &stats
	return health, err
}

// workspaceUse describes the file system of a sandbox's workspace.
func (s *Sandbox) workspaceUse() (use unix.Statfs_t, err error) {
	dir, err := s.OpenPlace(broker.Workspace)
	if err != nil {
		return use, err
	}
	defer dir.Close()
	return use, unix.Fstatfs(int(dir.Fd()), &use)
}

// networkBytes sums the bytes that the interfaces in the text of /proc/PID/net/dev received
// and sent, without the loopback.
func networkBytes(devices string) (received, sent int64) {
	for line := range strings.Lines(devices) {
		name, counters, ok := strings.Cut(line, ":")
		fields := strings.Fields(counters)
		if !ok || strings.TrimSpace(name) == "lo" || len(fields) < 9 {
			continue
		}
		rx, errRx := strconv.ParseInt(fields[0], 10, 64)
		tx, errTx := strconv.ParseInt(fields[8], 10, 64)
		if errRx == nil && errTx == nil {
			received, sent = received+rx, sent+tx
		}
	}
	return received, sent
}
