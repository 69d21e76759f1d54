package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Gauge reports the processes of a sandbox and its usage, at the price of a few reads. It changes no cgroup. The usage of one run is
// read from a [Meter].
type Gauge interface {
	// Init is the number of the sandbox's init. A sandbox whose init has ended has none, which is an error.
	Init() (int, error)
	Stats() (Stats, error)
	// Processes lists the processes of each run, by the name of its leaf.
	Processes() (map[string][]int, error)
	// Leaves lists the names of all leaves, also of those without processes.
	Leaves() ([]string, error)
	// Kills says, by the name of its leaf, how many processes of each run were killed for want of memory.
	Kills() (map[string]int64, error)
	// Count says how many processes a run has.
	Count(run string) (int, error)
	// Alone reports whether a run has one process, which has one thread.
	Alone(run string) (bool, error)
}

// Stats is the usage of a sandbox: CPU and I/O with its init, the rest without.
type Stats struct {
	CPU         time.Duration // since it was made
	Memory      int64         // bytes
	MemoryPeak  int64         // bytes; 0 where the kernel does not say
	PIDs        int           // processes and threads
	Read, Wrote int64         // bytes, of block devices; 0 where the kernel does not say
}

func (g *groupV1) Stats() (Stats, error) {
	memory, pids := filepath.Join(g.dir["memory"], "runs"), filepath.Join(g.dir["pids"], "runs")
	nanos, errCPU := readInt(g.dir["cpuacct"], "cpuacct.usage")
	used, errUsed := readInt(memory, "memory.usage_in_bytes")
	peak, errPeak := readInt(memory, "memory.max_usage_in_bytes")
	count, errPIDs := readInt(pids, "pids.current")
	if err := errors.Join(errCPU, errUsed, errPeak, errPIDs); err != nil {
		return Stats{}, err
	}
	s := Stats{CPU: time.Duration(nanos), Memory: used, MemoryPeak: peak, PIDs: int(count) - 1} // without init's forking thread
	if dir := g.dir["blkio"]; dir != "" {
		var err error
		if s.Read, s.Wrote, err = readIOV1(dir); err != nil {
			return Stats{}, err
		}
	}
	return s, nil
}

// readIOV1 sums the bytes of all devices: lines "8:0 Read 4096".
func readIOV1(dir string) (read, wrote int64, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "blkio.throttle.io_service_bytes_recursive"))
	if err != nil {
		return 0, 0, ifThere(err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		n, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		switch fields[1] {
		case "Read":
			read += n
		case "Write":
			wrote += n
		}
	}
	return read, wrote, nil
}

func (g *groupV1) Init() (int, error) {
	list, err := pids(g.dir["freezer"])
	if err == nil && len(list) == 0 {
		list, err = pids(filepath.Join(g.dir["freezer"], "init")) // where versions before this one had it
	}
	return onlyOne(list, err)
}

func (g *groupV2) Init() (int, error) { return onlyOne(pids(filepath.Join(g.dir, "init"))) }

// onlyOne returns the one process on a list.
func onlyOne(list []int, err error) (int, error) {
	if err != nil {
		return 0, fmt.Errorf("finding the init of a sandbox: %w", err)
	}
	if len(list) != 1 {
		return 0, fmt.Errorf("finding the init of a sandbox: its cgroup has %d processes, and not one", len(list))
	}
	return list[0], nil
}

func (g *groupV1) Processes() (map[string][]int, error) {
	return processes(filepath.Join(g.dir["freezer"], "runs"), filepath.Base, residents)
}

func (g *groupV1) Leaves() ([]string, error) {
	return leaves(filepath.Join(g.dir["freezer"], "runs"), filepath.Base)
}

func (g *groupV1) Kills() (map[string]int64, error) {
	return kills(filepath.Join(g.dir["memory"], "runs"), filepath.Base, "memory.oom_control")
}

func (g *groupV1) Count(run string) (int, error) { return count(g.leaf(run).freezer) }

func (g *groupV1) Alone(run string) (bool, error) { return single(g.leaf(run).freezer, "tasks") }

func (g *groupV2) Stats() (Stats, error) {
	runs := filepath.Join(g.dir, "runs")
	micros, errCPU := readField(g.dir, "cpu.stat", "usage_usec")
	used, errUsed := readInt(runs, "memory.current")
	count, errPIDs := readInt(runs, "pids.current")
	if err := errors.Join(errCPU, errUsed, errPIDs); err != nil {
		return Stats{}, err
	}
	s := Stats{CPU: time.Duration(micros) * time.Microsecond, Memory: used, PIDs: int(count)}
	var errPeak, errIO error
	s.MemoryPeak, errPeak = readInt(runs, "memory.peak") // Linux 5.19
	s.Read, s.Wrote, errIO = readIOV2(g.dir)
	return s, errors.Join(ifThere(errPeak), errIO)
}

// readIOV2 sums the bytes of all devices: lines "8:0 rbytes=4096 wbytes=0 …".
func readIOV2(dir string) (read, wrote int64, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "io.stat"))
	if err != nil {
		return 0, 0, ifThere(err)
	}
	for _, field := range strings.Fields(string(data)) {
		name, value, _ := strings.Cut(field, "=")
		if name != "rbytes" && name != "wbytes" {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return 0, 0, err
		}
		if name == "rbytes" {
			read += n
		} else {
			wrote += n
		}
	}
	return read, wrote, nil
}

func (g *groupV2) Processes() (map[string][]int, error) {
	return processes(filepath.Join(g.dir, "runs"), ownerV2, pids)
}

func (g *groupV2) Leaves() ([]string, error) {
	return leaves(filepath.Join(g.dir, "runs"), ownerV2)
}

func (g *groupV2) Kills() (map[string]int64, error) {
	return kills(filepath.Join(g.dir, "runs"), ownerV2, "memory.events")
}

func (g *groupV2) Count(run string) (int, error) { return count(g.find(run).dir) }

func (g *groupV2) Alone(run string) (bool, error) { return single(g.find(run).dir, "cgroup.threads") }

// kills reads the counts of all leaves but those that are removed meanwhile.
func kills(runs string, name func(dir string) string, file string) (map[string]int64, error) {
	dirs, err := subdirs(runs)
	if err != nil {
		return nil, err
	}
	all := make(map[string]int64, len(dirs))
	for _, leaf := range dirs {
		if n, err := readField(leaf, file, "oom_kill"); err == nil {
			all[name(leaf)] = n
		}
	}
	return all, nil
}

func leaves(runs string, name func(dir string) string) ([]string, error) {
	list, err := subdirs(runs)
	for i, dir := range list {
		list[i] = name(dir)
	}
	return list, err
}

func processes(runs string, name func(dir string) string, in func(dir string) ([]int, error)) (map[string][]int, error) {
	dirs, err := subdirs(runs)
	if err != nil {
		return nil, err
	}
	all := make(map[string][]int, len(dirs))
	for _, leaf := range dirs {
		list, err := in(leaf)
		if err := ifThere(err); err != nil {
			return nil, err
		}
		if len(list) > 0 {
			all[name(leaf)] = list
		}
	}
	return all, nil
}
