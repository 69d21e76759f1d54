// Package hugepage keeps a program that is started often in huge pages, in which a process takes
// less time to begin and to end.
package hugepage

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// size is that of a huge page on amd64, and on arm64 with pages of 4 KiB. A kernel with others refuses sizes that are no
// multiple of theirs.
const size = 2 << 20

// Collapse moves a file that is in memory (a memfd, or on tmpfs) into huge pages. The kernel maps a part of a program that
// begins and ends with a huge page by one entry, and otherwise sixteen small pages at a time; the rest it maps and unmaps in a
// third of the time. The content of the file stays, but takes whole huge pages of memory. It needs Linux 6.1 with transparent
// huge pages; where it fails the file is as before.
func Collapse(file *os.File) (err error) {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	length := (uintptr(info.Size()) + size - 1) &^ (size - 1)
	// The mapping has to begin with a huge page too: a mapping that is longer by one has one such place.
	around, err := unix.MmapPtr(-1, 0, nil, length+size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("reserving addresses: %w", err)
	}
	defer func() { err = errors.Join(err, unix.MunmapPtr(around, length+size)) }()
	begin := unsafe.Add(around, -uintptr(around)&(size-1))
	mapped, err := unix.MmapPtr(int(file.Fd()), 0, begin, length, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_FIXED)
	if err != nil {
		return fmt.Errorf("mapping %s: %w", file.Name(), err)
	}
	if err := collapse(unsafe.Slice((*byte)(mapped), length)); err != nil {
		return fmt.Errorf("collapsing %s: %w", file.Name(), err)
	}
	return nil
}

// collapse asks again where the kernel says that it could not just now, as it had one of the pages
// in hand.
func collapse(mapped []byte) (err error) {
	for range 5 {
		if err = unix.Madvise(mapped, unix.MADV_COLLAPSE); !errors.Is(err, unix.EAGAIN) {
			return err
		}
	}
	return err
}
