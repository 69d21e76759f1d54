package pid1

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxFilter bounds the filter, in bytes: the kernel takes 4096 instructions of 8.
const maxFilter = 4096 * 8

// readFilter reads the compiled seccomp filter.
func readFilter(file *os.File) ([]byte, error) {
	// The offset of the file is shared by all sandboxes, so the read starts at 0 explicitly.
	program := make([]byte, maxFilter+1) // pages that are not read take no memory
	n, err := file.ReadAt(program, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the seccomp filter: %w", err)
	}
	if n == 0 || n > maxFilter || n%8 != 0 {
		return nil, fmt.Errorf("a seccomp filter of %d bytes is not valid", n)
	}
	return program[:n], nil
}

// harden puts every thread of this process, and so all that they will ever start,
// under the seccomp filter, and makes the process opaque to the others.
func harden(program []byte) error {
	if err := dumpNothing(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming undumpable: %w", err)
	}
	noNewPrivs, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || noNewPrivs != 1 {
		return errors.New("no-new-privileges is not set")
	}
	return loadFilter(program)
}

// dumpNothing sets the limit of core dumps to 1 byte, with which the kernel writes no dump. The limit was set before
// this program was executed; but where the exec changes the SELinux label, the kernel lowers it to 0, and at 0 the
// kernel would start the host's program that collects dumps.
func dumpNothing() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return fmt.Errorf("reading the limit of core dumps: %w", err)
	}
	limit.Cur = min(1, limit.Max)
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return fmt.Errorf("setting the limit of core dumps: %w", err)
	}
	return nil
}

// allowing returns the filter with the calls allowed that init makes for its children
// and the list denies to them. Children are under both filters.
func allowing(program []byte, calls ...uint32) []byte {
	if len(calls) == 0 {
		return program
	}
	prefix := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the call
	for _, number := range calls {
		prefix = append(prefix,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	}
	var out []byte
	for _, i := range prefix {
		out = binary.NativeEndian.AppendUint16(out, i.Code)
		out = append(out, i.Jt, i.Jf)
		out = binary.NativeEndian.AppendUint32(out, i.K)
	}
	return append(out, program...)
}

// sockFprog returns the program as the kernel takes it.
func sockFprog(program []byte) *unix.SockFprog {
	return &unix.SockFprog{
		Len:    uint16(len(program) / 8),
		Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0])),
	}
}

func loadFilter(program []byte) error {
	fprog := sockFprog(program)
	tid, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(fprog)))
	runtime.KeepAlive(fprog)
	if errno != 0 {
		return fmt.Errorf("loading the seccomp filter: %w", errno)
	}
	if tid != 0 {
		return fmt.Errorf("loading the seccomp filter: thread %d could not follow", tid)
	}
	return nil
}

// confine restricts the calling thread, and so all processes that it starts. Processes with a layer load landlock's
// rules themselves, after their mounts; all others share one set of rules, since otherwise they could not see one
// another.
func (s *setting) confine() error {
	if s.landlock != nil && !s.layered {
		if err := s.landlock.restrict(); err != nil {
			return err
		}
	}
	return dropBounding()
}

// dropBounding takes every capability from the bounding set of the calling thread, so that no process that it starts
// can ever hold one.
func dropBounding() error {
	for capability := uintptr(0); capability <= 63; capability++ {
		set, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			return nil // beyond the kernel's last capability
		}
		if err != nil {
			return fmt.Errorf("reading capability %d: %w", capability, err)
		}
		if set == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
			return fmt.Errorf("dropping capability %d: %w", capability, err)
		}
	}
	return nil
}
