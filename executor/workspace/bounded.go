package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// powers are the capabilities of this process: all of them, without the one by which
// root may exceed quotas of disks, and without those over files of other users too.
type powers struct{ all, fewer, none [2]unix.CapUserData }

func ownPowers() (p powers, err error) {
	if err := unix.Capget(capHeader(), &p.all[0]); err != nil {
		return p, fmt.Errorf("reading the capabilities of this process: %w", err)
	}
	p.fewer = p.all
	p.fewer[0].Effective &^= 1 << unix.CAP_SYS_RESOURCE
	p.none = p.fewer
	for _, c := range []int{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_FSETID} {
		p.none[0].Effective &^= 1 << c
	}
	return p, nil
}

// give gives the calling thread a set of capabilities. The kernel does so for root, by the identity over files.
func (p powers) give(set *[2]unix.CapUserData) error {
	if os.Geteuid() == 0 {
		return nil
	}
	if err := unix.Capset(capHeader(), &set[0]); err != nil {
		return fmt.Errorf("changing the capabilities over files: %w", err)
	}
	return nil
}

func capHeader() *unix.CapUserHeader {
	return &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3} // of the calling thread
}

// bounded runs do, which must not start goroutines, as one that quotas hold for.
func (p powers) bounded(do func() error) error {
	runtime.LockOSThread()
	if err := unix.Capset(capHeader(), &p.fewer[0]); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("giving up a capability: %w", err)
	}
	defer func() {
		// A thread that is not its old self stays locked, and ends with its goroutine.
		if unix.Capset(capHeader(), &p.all[0]) == nil {
			runtime.UnlockOSThread()
		}
	}()
	return do()
}

// boundedFile is a file that is written to within the quotas of disks.
type boundedFile struct {
	file   *os.File
	powers powers
	change *sync.Mutex // is held for each piece, unless nil: others know the file
}

func (f boundedFile) Write(data []byte) (n int, err error) {
	if f.change != nil {
		f.change.Lock()
		defer f.change.Unlock()
	}
	err = f.powers.bounded(func() error {
		n, err = f.file.Write(data)
		return err
	})
	return n, err
}

// The pieces in which a file is written: the first one, as most files are small, and the others.
const (
	firstPiece = 32 << 10
	piece      = 256 << 10
)

// ReadFrom implements [io.ReaderFrom]. It writes in few and large pieces, however small those are
// that come, since giving up a capability and having it again takes a fifth of the time that
// writing 32 KiB does.
func (f boundedFile) ReadFrom(from io.Reader) (total int64, err error) {
	buf := make([]byte, firstPiece)
	for {
		n, ended := fill(buf, from)
		written, err := f.Write(buf[:n])
		total += int64(written)
		switch {
		case err != nil:
			return total, err
		case errors.Is(ended, io.EOF):
			return total, nil
		case ended != nil:
			return total, ended
		case len(buf) < piece:
			buf = make([]byte, piece)
		}
	}
}

// fill reads until buf is full. Unlike [io.ReadFull] it tells a cut stream apart from an ended one.
func fill(buf []byte, from io.Reader) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = from.Read(buf[n:])
		n += more
	}
	return n, err
}
