//go:build linux && cgo && seccomp

package libcontainer

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// compileFilter compiles the system call allow-list to the BPF that the kernel
// takes: the list that Docker's users know, for a process without capabilities, with
// fewer kinds of sockets, on the native architecture alone. 32-bit and x32 calls kill the process.
func compileFilter() ([]byte, error) { return compileFilterAs(binaryTree) }

// How libseccomp looks a call up.
const (
	sequence   = 1 // one after the other
	binaryTree = 2 // by bisection, since the kernel tries every call there is when it takes a filter
)

// compileFilterAs compiles it with calls looked up in that way.
func compileFilterAs(lookup int) ([]byte, error) {
	profile, err := seccomp.GetDefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}})
	if err != nil {
		return nil, fmt.Errorf("reading the seccomp profile: %w", err)
	}
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
	for _, rule := range withoutCoreDumps(withoutSharedStores(onlyOrdinarySockets(profile.Syscalls))) {
		highest, err := addRule(filter, rule)
		if err != nil {
			return nil, err
		}
		last = max(last, highest)
	}
	program, err := export(filter)
	if err != nil {
		return nil, fmt.Errorf("compiling the seccomp filter: %w", err)
	}
	return append(unknownIsENOSYS(uint32(last)), program...), nil
}

// onlyOrdinarySockets replaces the list's rules about sockets. Other families reach parts of the kernel that no
// program here needs, whose modules the host would load on the first use, or, by vsock, the hypervisor. The list
// denies some of them by comparing all 64 bits of an argument of which the kernel uses 32, so that a set higher bit
// passes; the new rules allow exact values only.
func onlyOrdinarySockets(rules []specs.LinuxSyscall) []specs.LinuxSyscall {
	calls := []string{"socket", "socketpair"}
	kept := without(rules, calls)
	for _, family := range []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK} {
		kept = append(kept, specs.LinuxSyscall{
			Names: calls, Action: specs.ActAllow,
			Args: []specs.LinuxSeccompArg{{Index: 0, Value: family, Op: specs.OpEqualTo}},
		})
	}
	return kept
}

// withoutSharedStores removes system calls that draw on a store which the whole host shares and no limit can protect:
// asynchronous I/O of the old kind.
func withoutSharedStores(rules []specs.LinuxSyscall) []specs.LinuxSyscall {
	return without(rules, []string{"io_setup"})
}

// withoutCoreDumps keeps code from changing the limit of core dumps, with which the kernel writes no dump: with a
// limit of 0 a crash would start the host's program that collects dumps, as root. A call that changes it returns
// success, since programs that lower the limit give up on an error.
func withoutCoreDumps(rules []specs.LinuxSyscall) []specs.LinuxSyscall {
	const resources = 16
	kept := without(rules, []string{"setrlimit", "prlimit64"})
	allow := func(name string, args ...specs.LinuxSeccompArg) {
		kept = append(kept, specs.LinuxSyscall{Names: []string{name}, Action: specs.ActAllow, Args: args})
	}
	done := uint(0)
	pretend := func(name string, args ...specs.LinuxSeccompArg) {
		kept = append(kept, specs.LinuxSyscall{Names: []string{name}, Action: specs.ActErrno, ErrnoRet: &done, Args: args})
	}
	is := func(index uint, value uint64) specs.LinuxSeccompArg {
		return specs.LinuxSeccompArg{Index: index, Value: value, Op: specs.OpEqualTo}
	}
	// All 64 bits of the resource are compared, of which the kernel takes 32: a resource with higher bits matches no
	// rule, and is denied.
	for resource := range uint64(resources) {
		if resource != unix.RLIMIT_CORE {
			allow("setrlimit", is(0, resource))
			allow("prlimit64", is(1, resource))
		}
	}
	allow("prlimit64", is(1, unix.RLIMIT_CORE), is(2, 0)) // to read it
	pretend("setrlimit", is(0, unix.RLIMIT_CORE))
	pretend("prlimit64", is(1, unix.RLIMIT_CORE), specs.LinuxSeccompArg{Index: 2, Value: 0, Op: specs.OpNotEqual})
	return kept
}

// without returns the rules without the calls.
func without(rules []specs.LinuxSyscall, calls []string) []specs.LinuxSyscall {
	kept := make([]specs.LinuxSyscall, 0, len(rules))
	for _, rule := range rules {
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool { return slices.Contains(calls, name) })
		if len(rule.Names) > 0 {
			kept = append(kept, rule)
		}
	}
	return kept
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

// addRule adds the rule for each of its calls that this libseccomp knows, and
// returns the highest number among them.
func addRule(filter *libseccomp.ScmpFilter, rule specs.LinuxSyscall) (libseccomp.ScmpSyscall, error) {
	action, err := ruleAction(rule)
	if err != nil {
		return 0, err
	}
	last := libseccomp.ScmpSyscall(0)
	for _, name := range rule.Names {
		call, err := libseccomp.GetSyscallFromName(name)
		if err != nil || call < 0 {
			continue // of another architecture, or newer than libseccomp: not allowed
		}
		last = max(last, call)
		if len(rule.Args) == 0 {
			err = filter.AddRule(call, action)
		} else {
			var conditions []libseccomp.ScmpCondition
			if conditions, err = ruleConditions(rule.Args); err == nil {
				err = filter.AddRuleConditional(call, action, conditions)
			}
		}
		if err != nil {
			return 0, fmt.Errorf("adding %s to the seccomp filter: %w", name, err)
		}
	}
	return last, nil
}

func ruleAction(rule specs.LinuxSyscall) (libseccomp.ScmpAction, error) {
	switch rule.Action {
	case specs.ActAllow:
		return libseccomp.ActAllow, nil
	case specs.ActErrno:
		errno := uint(unix.EPERM)
		if rule.ErrnoRet != nil {
			errno = *rule.ErrnoRet
		}
		return libseccomp.ActErrno.SetReturnCode(int16(errno)), nil
	default:
		return libseccomp.ActInvalid, fmt.Errorf("seccomp action %s is not supported", rule.Action)
	}
}

func ruleConditions(args []specs.LinuxSeccompArg) ([]libseccomp.ScmpCondition, error) {
	compare := map[specs.LinuxSeccompOperator]libseccomp.ScmpCompareOp{
		specs.OpEqualTo: libseccomp.CompareEqual, specs.OpNotEqual: libseccomp.CompareNotEqual,
		specs.OpGreaterThan: libseccomp.CompareGreater, specs.OpGreaterEqual: libseccomp.CompareGreaterEqual,
		specs.OpLessThan: libseccomp.CompareLess, specs.OpLessEqual: libseccomp.CompareLessOrEqual,
		specs.OpMaskedEqual: libseccomp.CompareMaskedEqual,
	}
	list := make([]libseccomp.ScmpCondition, 0, len(args))
	for _, arg := range args {
		op, ok := compare[arg.Op]
		if !ok {
			return nil, fmt.Errorf("seccomp operator %s is not supported", arg.Op)
		}
		values := []uint64{arg.Value}
		if op == libseccomp.CompareMaskedEqual {
			values = append(values, arg.ValueTwo)
		}
		condition, err := libseccomp.MakeCondition(arg.Index, op, values...)
		if err != nil {
			return nil, err
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
