// Package overlay makes mounts that show directories one over the other, and that no process can write to. The files have inodes of
// their own in each mount: a lock or a watch of one does not reach the directories or another mount of them.
package overlay

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// New returns a mount of the layers, the topmost first, that is in no namespace yet. The kernel wants two of them at least, in the
// mount namespace of the calling thread. The caller closes the mount.
func New(attributes int, layers ...string) (*os.File, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making an overlay, which the kernel must have: %w", err)
	}
	defer unix.Close(fs)
	// Descriptors, since a path may have colons or be too long for the option, and sandboxes read the option.
	names := make([]string, len(layers))
	for i, layer := range layers {
		fd, err := unix.Open(layer, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", layer, err)
		}
		defer unix.Close(fd) //nolint:gocritic // until the overlay is made of all of them
		names[i] = fmt.Sprintf("/proc/thread-self/fd/%d", fd)
	}
	for option, value := range map[string]string{"lowerdir": strings.Join(names, ":"), "redirect_dir": "nofollow", "metacopy": "off"} {
		if err := unix.FsconfigSetString(fs, option, value); err != nil {
			return nil, fmt.Errorf("making an overlay over %s: option %s: %w", layers[len(layers)-1], option, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("making an overlay over %s: %w", layers[len(layers)-1], err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return nil, fmt.Errorf("making an overlay over %s: %w", layers[len(layers)-1], err)
	}
	return os.NewFile(uintptr(mount), "overlay"), nil
}
