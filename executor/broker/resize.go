package broker

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/oci"
	"github.com/yurtrun/yurt/executor/procview"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// Resize implements [Broker].
func (l *Local) Resize(sandboxID string, from, to yurt.Resources) error {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return err
	}
	if err := l.limit(s, LimitsOf(from, nil), LimitsOf(to, nil)); err != nil {
		return err
	}
	sizes := oci.Volumes(to.Disk, to.Memory)
	for path, had := range oci.Volumes(from.Disk, from.Memory) {
		if sizes[path] == had {
			continue
		}
		if err := l.resize(sandboxID, path, sizes[path]); err != nil {
			return fmt.Errorf("resizing %s: %w", path, err)
		}
	}
	if from.Memory == to.Memory {
		return nil
	}
	return l.showMemory(sandboxID, int64(to.Memory))
}

// limit gives the cgroup of a sandbox other limits.
func (l *Local) limit(s *listed, from, to Limits) error {
	if from == to {
		return nil
	}
	if err := l.Cgroups.CheckLimits(to); err != nil {
		return err
	}
	return s.group.Limit(to)
}

// resize gives a file system in memory other bounds.
func (l *Local) resize(sandboxID, path string, to oci.Sizes) error {
	dir, err := l.open(sandboxID, path)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	fs, err := unix.Fspick(dir, "", unix.FSPICK_CLOEXEC|unix.FSPICK_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigSetString(fs, "size", strconv.FormatInt(int64(to.Bytes), 10)); err != nil {
		return err
	}
	if err := unix.FsconfigSetString(fs, "nr_inodes", strconv.FormatInt(to.Inodes, 10)); err != nil {
		return err
	}
	return unix.FsconfigReconfigure(fs)
}

// showMemory writes the file that a sandbox has in the place of /proc/meminfo.
func (l *Local) showMemory(sandboxID string, memory int64) error {
	init, err := l.initOf(sandboxID)
	if err != nil {
		return err
	}
	data, err := procview.MeminfoOf(memory)
	if err != nil {
		return err
	}
	fd, err := openat.Inside(init.PID, procview.Meminfo, unix.O_WRONLY)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), procview.Meminfo)
	defer file.Close()
	if !init.Alive() {
		return gone(sandboxID)
	}
	if _, err := file.WriteAt(data, 0); err != nil { // readers see no moment without contents
		return fmt.Errorf("showing its memory to sandbox %s: %w", sandboxID, err)
	}
	return file.Truncate(int64(len(data)))
}
