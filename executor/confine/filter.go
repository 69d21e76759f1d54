package confine

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/seccomp"
)

// Offsets in struct seccomp_data.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// x32Bit marks calls of the x32 interface, whose numbers amd64 shares with its own.
const x32Bit = 0x40000000

// maxFilter is the most instructions that the kernel takes.
const maxFilter = 4096

// call is one system call with the instructions that decide about it.
type call struct {
	number uint32
	code   []unix.SockFilter
}

// compile makes the filter of a list for this architecture: calls that are not in the list fail with EPERM, those that are newer
// than all of it with ENOSYS, and those of another architecture end the process.
func compile(list []seccomp.Group) ([]unix.SockFilter, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("looking up the system calls of %s: %w", runtime.GOARCH, err)
	}
	calls := callsOf(list, info.SyscallNames)
	if len(calls) == 0 {
		return nil, fmt.Errorf("no system call of %s is known", runtime.GOARCH)
	}
	program := []unix.SockFilter{
		load(offsetArch),
		jump(unix.BPF_JEQ, uint32(info.ID), 1, 0),
		ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetNumber),
		jump(unix.BPF_JGE, x32Bit, 0, 1),
		ret(unix.SECCOMP_RET_KILL_PROCESS),
		jump(unix.BPF_JGT, calls[len(calls)-1].number, 0, 1),
		ret(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
	}
	program = append(program, bisect(calls)...)
	if len(program) > maxFilter {
		return nil, fmt.Errorf("the filter of system calls has %d instructions; the kernel takes %d", len(program), maxFilter)
	}
	return program, nil
}

// callsOf returns the calls of a list by number. Names that this architecture does not have are left out.
func callsOf(list []seccomp.Group, numbers map[string]int) []call {
	rules := make(map[uint32][]unix.SockFilter)
	for _, group := range list {
		for _, rule := range group.Rules {
			for _, name := range rule.Calls {
				if number, ok := numbers[name]; ok {
					rules[uint32(number)] = append(rules[uint32(number)], decide(rule)...)
				}
			}
		}
	}
	calls := make([]call, 0, len(rules))
	for number, code := range rules {
		calls = append(calls, call{number, append(code, ret(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)))})
	}
	slices.SortFunc(calls, func(a, b call) int { return cmp.Compare(a.number, b.number) })
	return calls
}

// bisect looks the number up by halves: the kernel tries every call there is when it takes a filter.
func bisect(calls []call) []unix.SockFilter {
	if len(calls) == 1 {
		miss := []unix.SockFilter{jump(unix.BPF_JEQ, calls[0].number, 1, 0), ret(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))}
		return append(miss, calls[0].code...)
	}
	middle := len(calls) / 2
	below, above := bisect(calls[:middle]), bisect(calls[middle:])
	code := []unix.SockFilter{jump(unix.BPF_JGE, calls[middle].number, 0, 1), {Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(len(below))}}
	return slices.Concat(code, below, above)
}

// decide answers the call if all conditions of the rule hold, and goes on after its last instruction otherwise.
func decide(rule seccomp.Rule) []unix.SockFilter {
	code := []unix.SockFilter{ret(answer(rule.Answer))}
	for _, condition := range slices.Backward(rule.When) {
		code = append(check(condition, uint8(len(code))), code...)
	}
	return code
}

// check goes on if the condition holds, and otherwise over the next instructions too.
func check(c seccomp.Condition, next uint8) []unix.SockFilter {
	low, high := uint32(offsetArgs+8*c.Arg), uint32(offsetArgs+8*c.Arg+4) // on little-endian machines, which both architectures are
	if c.Not {
		return []unix.SockFilter{
			load(low), jump(unix.BPF_JEQ, uint32(c.Value), 0, 2),
			load(high), jump(unix.BPF_JEQ, uint32(c.Value>>32), next, 0),
		}
	}
	code := []unix.SockFilter{load(low), and(uint32(c.Mask)), jump(unix.BPF_JEQ, uint32(c.Value), 0, next)}
	if c.Mask>>32 == 0 {
		return code
	}
	second := []unix.SockFilter{load(high), and(uint32(c.Mask >> 32)), jump(unix.BPF_JEQ, uint32(c.Value>>32), 0, next)}
	code[2].Jf += uint8(len(second))
	return append(code, second...)
}

func answer(errno syscall.Errno) uint32 {
	switch errno {
	case seccomp.Allow:
		return unix.SECCOMP_RET_ALLOW
	case seccomp.Pretend:
		return unix.SECCOMP_RET_ERRNO
	default:
		return unix.SECCOMP_RET_ERRNO | uint32(errno)
	}
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func and(mask uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask}
}

func ret(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

// jump goes over so many instructions, if the comparison with the loaded value holds and if it does not.
func jump(comparison uint16, value uint32, holds, fails uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | comparison, K: value, Jt: holds, Jf: fails}
}

// loadFilter puts the calling thread under the filter for good.
func loadFilter(program []unix.SockFilter) error {
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return fmt.Errorf("loading the filter of system calls: %w", errno)
	}
	return nil
}
