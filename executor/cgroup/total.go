package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Total returns the usage of all groups together; zeros before the first group is made. CPU has that of groups that are gone.
func (m *Manager) Total() (Stats, error) {
	read := m.totalV1
	if m.v2 != "" {
		read = m.totalV2
	}
	total, err := read()
	if errors.Is(err, os.ErrNotExist) {
		return Stats{}, nil
	}
	return total, err
}

func (m *Manager) totalV1() (Stats, error) {
	nanos, errCPU := readInt(filepath.Join(m.v1["cpuacct"], m.parent), "cpuacct.usage")
	used, errUsed := readInt(filepath.Join(m.v1["memory"], m.parent), "memory.usage_in_bytes")
	count, errPIDs := readInt(filepath.Join(m.v1["pids"], m.parent), "pids.current")
	return Stats{CPU: time.Duration(nanos), Memory: used, PIDs: int(count)}, errors.Join(errCPU, errUsed, errPIDs)
}

func (m *Manager) totalV2() (Stats, error) {
	dir := filepath.Join(m.v2, m.parent)
	micros, errCPU := readField(dir, "cpu.stat", "usage_usec")
	used, errUsed := readInt(dir, "memory.current")
	count, errPIDs := readInt(dir, "pids.current")
	return Stats{CPU: time.Duration(micros) * time.Microsecond, Memory: used, PIDs: int(count)}, errors.Join(errCPU, errUsed, errPIDs)
}
