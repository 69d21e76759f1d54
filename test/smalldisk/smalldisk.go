// Package smalldisk gives tests a file system of their own that they can fill: in memory, or ext4 in a file. It is
// unmounted at the end of the test. Making one needs root.
package smalldisk

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Disk is a mounted file system.
type Disk struct {
	Dir string
	t   testing.TB
}

// InMemory mounts a tmpfs of so many bytes, with the options that mount knows beside the size.
func InMemory(t testing.TB, size int, options string) *Disk {
	t.Helper()
	d := &Disk{Dir: mountPoint(t), t: t}
	if err := unix.Mount("tmpfs", d.Dir, "tmpfs", 0, "size="+strconv.Itoa(size)+options); err != nil {
		t.Fatalf("mounting a tmpfs: %v", err)
	}
	t.Cleanup(d.unmount)
	return d
}

// Ext4 mounts an ext4 of so many bytes, without a reserve for root.
func Ext4(t testing.TB, size int64) *Disk {
	t.Helper()
	d := &Disk{Dir: mountPoint(t), t: t}
	image := filepath.Join(t.TempDir(), "ext4")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, d.Dir}} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", command, err, out)
		}
	}
	t.Cleanup(d.unmount)
	return d
}

// mountPoint makes a directory of a short name: sockets below it have room for no more.
func mountPoint(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "disk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (d *Disk) unmount() {
	if err := unix.Unmount(d.Dir, unix.MNT_DETACH); err != nil {
		d.t.Errorf("unmounting %s: %v", d.Dir, err)
	}
}

func (d *Disk) filler() string { return filepath.Join(d.Dir, "filler") }

// Fill takes all that is free. It may be called again.
func (d *Disk) Fill() {
	d.t.Helper()
	file, err := os.OpenFile(d.filler(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	for size := 1 << 20; size >= 512; { // ever smaller pieces
		if _, err := file.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// Free removes the file of Fill.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.t.Error(err)
	}
}
