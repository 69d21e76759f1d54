package cgroup

import (
	"fmt"
	"os"
)

// A process without power over the cgroups reads usage all the same: from the control files, which every process may read, and from
// files that a process with power has opened and passed on.

// GaugeOf reads the usage of the group of that name.
func (m *Manager) GaugeOf(name string) Gauge { return m.Open(name) }

// Files returns the files of a meter in their order, to be passed on. They stay the meter's.
func (m *Meter) Files() (files []*os.File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, file := range m.files {
		if file != nil {
			files = append(files, file)
		}
	}
	return files
}

// MeterOf makes a meter of the files of another, see [Meter.Files]. It takes them over when it succeeds.
func (m *Manager) MeterOf(files []*os.File) (*Meter, error) {
	if len(files) != meters && (m.Version() == 1 || len(files) != meterMemory) {
		return nil, fmt.Errorf("making a meter of %d files: a run has %d", len(files), meters)
	}
	meter := &Meter{parse: usageV1}
	if m.Version() == 2 {
		meter.parse = usageV2
	}
	copy(meter.files[:], files)
	return meter, nil
}

// AlarmOf makes an alarm of the file of another, see [Alarm]. Without a file it watches the group of that name itself. It takes the
// file over when it succeeds.
func (m *Manager) AlarmOf(name string, file *os.File) (Alarm, error) {
	if file != nil {
		return &alarmV1{file}, nil
	}
	return m.Open(name).MemoryAlarm()
}
