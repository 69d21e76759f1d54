package loop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/opencontainers/selinux/go-selinux/label"
	"golang.org/x/sys/unix"
)

// Control is the device that gives out loop devices. Without it no image can be mounted.
const Control = "/dev/loop-control"

// Mount mounts the image at dir, for no device and no program that gains privileges to
// be honoured in it. All in it has the label of SELinux's, if there is one.
func Mount(image, dir, seLinux string) error {
	device, err := attach(image)
	if err != nil {
		return fmt.Errorf("attaching a disk image: %w", err)
	}
	// Held until it is mounted; then the mount does.
	defer device.Close()
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOATIME
	// The image never outlives its sandbox, so no cache has to be flushed for it; removed files give their space back
	// to the host.
	options := label.FormatMountLabel("nobarrier,discard,errors=remount-ro", seLinux)
	if err := unix.Mount(device.Name(), dir, "ext4", flags, options); err != nil {
		return fmt.Errorf("mounting a disk image: %w", err)
	}
	if err := os.Remove(filepath.Join(dir, "lost+found")); err != nil {
		return errors.Join(fmt.Errorf("emptying a disk image: %w", err), unix.Unmount(dir, unix.MNT_DETACH))
	}
	return nil
}

// attach makes the file a block device, which the kernel removes after its last user.
func attach(image string) (*os.File, error) {
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	control, err := os.OpenFile(Control, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("looking for a free loop device: %w", err)
		}
		device, err := os.OpenFile("/dev/loop"+strconv.Itoa(number), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		config := &unix.LoopConfig{Fd: uint32(file.Fd())}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		err = unix.IoctlLoopConfigure(int(device.Fd()), config)
		if err == nil {
			return device, nil
		}
		device.Close()
		if !errors.Is(err, unix.EBUSY) { // another process was faster
			return nil, fmt.Errorf("configuring %s: %w", device.Name(), err)
		}
	}
}
