package broker

import (
	"cmp"
	"errors"
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
	if err := errors.Join(l.Cgroups.CheckLimits(LimitsOf(to, nil)), s.checkChange(from, to)); err != nil {
		return err
	}
	if err := l.limit(s, LimitsOf(from, nil), LimitsOf(to, nil)); err != nil {
		return err
	}
	s.setLimits(to)
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
	return s.group.Limit(to)
}

// checkDisk refuses the size and the kind of a disk that no template may have. A file system in memory of no size would have no bound.
func checkDisk(r yurt.Resources) error {
	if r.Disk <= 0 {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.disk", "%s is out of range; give %s or more", r.Disk, yurt.Size(yurt.MinDisk))
	}
	return yurt.Resources{Disk: r.Disk, DiskKind: r.DiskKind}.Validate("resources")
}

// checkChange refuses to change the disk of a sandbox in another way than its template allows: a disk that is not in memory is for good.
// That of a sandbox which an earlier broker has made is as the request says.
func (s *listed) checkChange(from, to yurt.Resources) error {
	if err := checkDisk(to); err != nil {
		return err
	}
	s.mu.Lock()
	made := s.limits
	s.mu.Unlock()
	if made == nil {
		made = &from
	}
	if kindOf(*made) != kindOf(from) || made.Disk != from.Disk {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "from", "sandbox %s has a disk of %s in %s, and not one of %s in %s", s.id, made.Disk, kindOf(*made), from.Disk, kindOf(from))
	}
	if kindOf(to) != kindOf(from) || to.OnDisk() && to.Disk != from.Disk {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "to", "the disk of sandbox %s, %s in %s, cannot become one of %s in %s; make another sandbox", s.id, from.Disk, kindOf(from), to.Disk, kindOf(to))
	}
	return nil
}

// kindOf returns the kind of a disk, also where it is not given.
func kindOf(r yurt.Resources) yurt.DiskKind { return cmp.Or(r.DiskKind, yurt.DiskMemory) }

// setLimits notes the limits that a sandbox has.
func (s *listed) setLimits(r yurt.Resources) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = &r
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
