package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is the usage of a run.
type Usage struct {
	CPU        time.Duration
	MemoryPeak int64 // bytes; 0 where the kernel does not say
	OOMKills   int64 // processes that were killed for want of memory
}

// Meter reads the usage of one run from files that are open. It works under any name of the leaf, and without power over the host. Its
// methods may be called concurrently, also those of nil, which knows no usage.
type Meter struct {
	mu    sync.Mutex
	files [meters]*os.File // nil where the kernel has no such file
	parse func(data [meters][]byte) (Usage, error)
}

// Indexes of the files of a [Meter].
const (
	meterCPU = iota
	meterKills
	meterMemory // the last one, since old kernels on v2 lack it
	meters
)

// meterFiles is their paths.
type meterFiles [meters]string

func openMeter(paths meterFiles, parse func([meters][]byte) (Usage, error)) (*Meter, error) {
	m := &Meter{parse: parse}
	for i, path := range paths {
		fd, err := openControl(path, unix.O_RDONLY)
		if i == meterMemory && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			m.Close()
			return nil, fmt.Errorf("opening a cgroup: %w", &os.PathError{Op: "open", Path: path, Err: err})
		}
		m.files[i] = os.NewFile(uintptr(fd), path)
	}
	return m, nil
}

// Usage returns the run's usage so far. It fails once the leaf is removed, or the meter closed.
func (m *Meter) Usage() (Usage, error) {
	if m == nil {
		return Usage{}, fmt.Errorf("reading the usage of a run: %w", os.ErrNotExist)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var data [meters][]byte
	for i, file := range m.files {
		if file == nil && i != meterMemory {
			return Usage{}, fmt.Errorf("reading the usage of a run: %w", os.ErrClosed)
		}
		if file == nil {
			continue
		}
		var err error
		if data[i], err = readOpen(file); err != nil {
			return Usage{}, fmt.Errorf("reading %s: %w", filepath.Base(file.Name()), err)
		}
	}
	return m.parse(data)
}

// Close closes the files.
func (m *Meter) Close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, file := range m.files {
		if file != nil {
			file.Close()
			m.files[i] = nil
		}
	}
}

func usageV1(data [meters][]byte) (Usage, error) {
	nanos, errCPU := parseInt("cpuacct.usage", data[meterCPU])
	peak, errPeak := parseInt("memory.max_usage_in_bytes", data[meterMemory])
	kills, errKills := parseField("memory.oom_control", data[meterKills], "oom_kill")
	return Usage{CPU: time.Duration(nanos), MemoryPeak: peak, OOMKills: kills}, errors.Join(errCPU, errPeak, errKills)
}

func usageV2(data [meters][]byte) (Usage, error) {
	micros, errCPU := parseField("cpu.stat", data[meterCPU], "usage_usec")
	kills, errKills := parseField("memory.events", data[meterKills], "oom_kill")
	usage := Usage{CPU: time.Duration(micros) * time.Microsecond, OOMKills: kills}
	if data[meterMemory] == nil {
		return usage, errors.Join(errCPU, errKills)
	}
	var errPeak error
	usage.MemoryPeak, errPeak = parseInt("memory.peak", data[meterMemory])
	return usage, errors.Join(errCPU, errKills, errPeak)
}
