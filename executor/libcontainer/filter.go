//go:build linux && cgo && seccomp

package libcontainer

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"syscall"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/seccomp"
)

// compileFilter compiles the list of executor/seccomp, with the groups of those names, to the BPF
// that the kernel takes, for the native architecture alone: 32-bit and x32 calls kill the process.
func compileFilter(groups []string) ([]byte, error) { return compileFilterAs(binaryTree, groups) }

// How libseccomp looks a call up.
const (
	sequence   = 1 // one after the other
	binaryTree = 2 // by bisection, since the kernel tries every call there is when it takes a filter
)

// compileFilterAs compiles it with calls looked up in that way.
func compileFilterAs(lookup int, groups []string) ([]byte, error) {
	filter, err := libseccomp.NewFilter(libseccomp.ActErrno.SetReturnCode(int16(unix.EPERM)))
	if err != nil {
		return nil, fmt.Errorf("making a seccomp filter: %w", err)
	}
	defer filter.Release()
	if err := filter.SetBadArchAction(libseccomp.ActKillProcess); err != nil {
		return nil, fmt.Errorf("making a seccomp filter: %w", err)
	}
	if err := filter.SetOptimize(lookup); err != nil {
		return nil, fmt.Errorf("making a seccomp filter: %w", err)
	}
	last := libseccomp.ScmpSyscall(0)
	for _, group := range seccomp.For(groups) {
		for _, rule := range group.Rules {
			highest, err := addRule(filter, rule)
			if err != nil {
				return nil, err
			}
			last = max(last, highest)
		}
	}
	program, err := export(filter)
	if err != nil {
		return nil, fmt.Errorf("compiling the seccomp filter: %w", err)
	}
	return append(unknownIsENOSYS(uint32(last)), program...), nil
}

// export goes through a file in memory: libseccomp before 2.6 writes only to files.
func export(filter *libseccomp.ScmpFilter) ([]byte, error) {
	fd, err := unix.MemfdCreate("seccomp", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "seccomp")
	defer file.Close()
	if err := filter.ExportBPF(file); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}

// addRule adds the rule for each of its calls that this architecture has, and
// returns the highest number among them.
func addRule(filter *libseccomp.ScmpFilter, rule seccomp.Rule) (libseccomp.ScmpSyscall, error) {
	conditions, err := ruleConditions(rule.When)
	if err != nil {
		return 0, err
	}
	last := libseccomp.ScmpSyscall(0)
	for _, name := range rule.Calls {
		call, err := libseccomp.GetSyscallFromName(name)
		if err != nil {
			return 0, fmt.Errorf("libseccomp knows no system call %s: %w", name, err)
		}
		if call < 0 {
			continue // of another architecture
		}
		last = max(last, call)
		if len(conditions) == 0 {
			err = filter.AddRule(call, ruleAction(rule.Answer))
		} else {
			err = filter.AddRuleConditional(call, ruleAction(rule.Answer), conditions)
		}
		if err != nil {
			return 0, fmt.Errorf("adding %s to the seccomp filter: %w", name, err)
		}
	}
	return last, nil
}

func ruleAction(answer syscall.Errno) libseccomp.ScmpAction {
	switch answer {
	case seccomp.Allow:
		return libseccomp.ActAllow
	case seccomp.Pretend:
		return libseccomp.ActErrno.SetReturnCode(0)
	default:
		return libseccomp.ActErrno.SetReturnCode(int16(answer))
	}
}

func ruleConditions(when []seccomp.Condition) ([]libseccomp.ScmpCondition, error) {
	list := make([]libseccomp.ScmpCondition, 0, len(when))
	for _, c := range when {
		op, values := libseccomp.CompareMaskedEqual, []uint64{c.Mask, c.Value}
		if c.Not {
			op, values = libseccomp.CompareNotEqual, []uint64{c.Value}
		}
		condition, err := libseccomp.MakeCondition(c.Arg, op, values...)
		if err != nil {
			return nil, fmt.Errorf("adding a condition to the seccomp filter: %w", err)
		}
		list = append(list, condition)
	}
	return list, nil
}

// unknownIsENOSYS is a prefix for a filter: calls newer than the list answer
// ENOSYS, as on an older kernel, so that C libraries fall back instead of failing.
func unknownIsENOSYS(last uint32) []byte {
	const (
		offsetNR   = 0 // in struct seccomp_data
		offsetArch = 4
		x32Bit     = 0x40000000
	)
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offsetArch},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nativeArch, Jf: 4}, // another one: the list decides
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offsetNR},
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: x32Bit, Jt: 2}, // likewise
		{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: last, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
	}
	var out []byte
	for _, i := range program {
		out = binary.NativeEndian.AppendUint16(out, i.Code)
		out = append(out, i.Jt, i.Jf)
		out = binary.NativeEndian.AppendUint32(out, i.K)
	}
	return out
}
