package descriptor

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Sealed returns a file in memory that holds data and cannot be changed any more,
// to be handed to a sandbox. Its offset is at the start.
func Sealed(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // Linux before 6.3 knows no MFD_NOEXEC_SEAL
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("making a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), name)
	if _, err := file.WriteAt(data, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("filling a file in memory: %w", err), file.Close())
	}
	seals := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, errors.Join(fmt.Errorf("sealing a file in memory: %w", err), file.Close())
	}
	return file, nil
}
