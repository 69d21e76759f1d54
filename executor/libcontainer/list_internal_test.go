//go:build linux && cgo && seccomp

package libcontainer

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/seccomp"
)

// allGroups are combinations of groups that sandboxes may have.
func allGroups() [][]string {
	return [][]string{nil, {"ptrace"}, {"perf-self"}, {"devices"}, {"perf-self", "ptrace"}, {"devices", "perf-self", "ptrace"}}
}

// numbered returns the rules of the list by the number of the call on this architecture.
func numbered(t *testing.T, groups []string) map[uint32][]seccomp.Rule {
	t.Helper()
	rules := make(map[uint32][]seccomp.Rule)
	for _, group := range seccomp.For(groups) {
		for _, rule := range group.Rules {
			for _, name := range rule.Calls {
				call, err := libseccomp.GetSyscallFromName(name)
				if err != nil {
					t.Errorf("libseccomp knows no call %s of the group %s", name, group.Name)
				}
				if call >= 0 {
					rules[uint32(call)] = append(rules[uint32(call)], rule)
				}
			}
		}
	}
	return rules
}

// decide says by the table alone what the kernel is told of a call.
func decide(rules map[uint32][]seccomp.Rule, last, call uint32, args [6]uint64) uint32 {
	if call > last {
		return unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	}
	for _, rule := range rules[call] {
		if slices.ContainsFunc(rule.When, func(c seccomp.Condition) bool { return !c.Holds(args[c.Arg]) }) {
			continue
		}
		switch rule.Answer {
		case seccomp.Allow:
			return unix.SECCOMP_RET_ALLOW
		case seccomp.Pretend:
			return unix.SECCOMP_RET_ERRNO
		default:
			return unix.SECCOMP_RET_ERRNO | uint32(rule.Answer)
		}
	}
	return unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
}

// TestFilterIsTheTable: libseccomp's program decides every call as the table does, with any argument near those
// that the table names, and with combinations of those.
func TestFilterIsTheTable(t *testing.T) {
	for _, groups := range allGroups() {
		t.Run(strings.Join(groups, " "), func(t *testing.T) {
			rules := numbered(t, groups)
			last := slices.Max(slices.Collect(maps.Keys(rules)))
			vm := machine(t, instructions(t, binaryTree, groups))
			for call := range uint32(600) {
				for _, args := range arguments(rules[call]) {
					if got, want := run(t, vm, call, args), decide(rules, last, call, args); got != want {
						t.Errorf("call %d with %#x is answered by %#x, want %#x", call, args, got, want)
					}
				}
			}
		})
	}
}

// arguments are such as meet the conditions of each rule, and such as miss them by a bit.
func arguments(rules []seccomp.Rule) [][6]uint64 {
	list := [][6]uint64{{}, {1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}}
	for _, rule := range rules {
		var met [6]uint64
		for _, c := range rule.When {
			met[c.Arg] = c.Value
			if c.Not {
				met[c.Arg] = ^c.Value
			}
		}
		list = append(list, met)
		for arg := range met {
			for bit := range 64 {
				missed := met
				missed[arg] ^= 1 << bit
				list = append(list, missed)
			}
		}
	}
	return list
}

func run(t *testing.T, vm *bpf.VM, call uint32, args [6]uint64) uint32 {
	t.Helper()
	var data [64]byte // struct seccomp_data, its words in the byte order that the machine reads
	binary.BigEndian.PutUint32(data[0:], call)
	binary.BigEndian.PutUint32(data[4:], nativeArch)
	for i, arg := range args { // whose lower half is first
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(arg))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(arg>>32))
	}
	got, err := vm.Run(data[:])
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

// TestListGolden: a change of the table, or of the numbers that libseccomp has for names, shows in a review.
func TestListGolden(t *testing.T) {
	rules, names := numbered(t, nil), make(map[uint32]string)
	var text strings.Builder
	for _, groups := range [][]string{nil, {"ptrace"}, {"perf-self"}, {"devices"}} {
		fmt.Fprintf(&text, "list with the groups %q: %d instructions\n", groups, len(instructions(t, binaryTree, groups)))
		with := numbered(t, groups)
		for _, call := range slices.Sorted(maps.Keys(with)) {
			names[call], _ = libseccomp.ScmpSyscall(call).GetName()
			extra := with[call]
			if groups != nil {
				extra = extra[len(rules[call]):]
			}
			for _, rule := range extra {
				fmt.Fprintf(&text, "%d %s%s: %s\n", call, names[call], conditions(rule.When), answerName(rule))
			}
		}
	}
	path := "testdata/list-" + runtime.GOARCH + ".golden"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("the list is not as in %s; look at the difference, and write it anew with -update if it is meant", path)
	}
}

func conditions(when []seccomp.Condition) string {
	var text strings.Builder
	for _, c := range when {
		relation := "="
		if c.Not {
			relation = "≠"
		}
		fmt.Fprintf(&text, " %c&%#x%s%#x", 'a'+rune(c.Arg), c.Mask, relation, c.Value)
	}
	return text.String()
}

func answerName(rule seccomp.Rule) string {
	switch rule.Answer {
	case seccomp.Allow:
		return "allow"
	case seccomp.Pretend:
		return "pretend"
	default:
		return unix.ErrnoName(rule.Answer)
	}
}

// leftOut are calls of Docker's list that ours has not, by the reason.
func leftOut() map[string][]string {
	return map[string][]string{
		"they take memory of stores that the host has one of": {"io_setup", "io_submit", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents"},
		"they are for other processes, see the group ptrace":  {"process_vm_readv", "process_vm_writev"},
		"they have no use in a sandbox":                       {"adjtimex", "clock_adjtime", "fanotify_mark", "modify_ldt", "memfd_secret"},
		"they are newer than the list": {
			"cachestat", "fchmodat2", "futex_requeue", "futex_wait", "futex_wake", "getxattrat", "listmount", "listxattrat", "map_shadow_stack",
			"mseal", "removexattrat", "riscv_hwprobe", "setxattrat", "statmount", "uretprobe",
		},
		"they are of other architectures": {
			"_llseek", "_newselect", "chown32", "clock_adjtime64", "clock_getres_time64", "clock_gettime64", "clock_nanosleep_time64",
			"epoll_ctl_old", "epoll_wait_old", "fadvise64_64", "fchown32", "fcntl64", "fstat64", "fstatat64", "fstatfs64", "ftruncate64",
			"futex_time64", "getegid32", "geteuid32", "getgid32", "getgroups32", "getresgid32", "getresuid32", "getuid32",
			"io_pgetevents_time64", "ipc", "lchown32", "lstat64", "mmap2", "mq_timedreceive_time64", "mq_timedsend_time64", "ppoll_time64",
			"pselect6_time64", "recv", "recvmmsg_time64", "rt_sigtimedwait_time64", "sched_rr_get_interval_time64", "semtimedop_time64", "send",
			"sendfile64", "setfsgid32", "setfsuid32", "setgid32", "setgroups32", "setregid32", "setresgid32", "setresuid32", "setreuid32",
			"setuid32", "sigprocmask", "sigreturn", "socketcall", "stat64", "statfs64", "timer_gettime64", "timer_settime64",
			"timerfd_gettime64", "timerfd_settime64", "truncate64", "ugetrlimit", "utimensat_time64", "waitpid",
		},
	}
}

// TestEveryCallOfDockersIsDecided: a call that an update of Docker's list adds or takes away is looked at by a
// person, who adds it to ours or to leftOut.
func TestEveryCallOfDockersIsDecided(t *testing.T) {
	profile, err := moby.GetDefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}})
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours, out := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, rule := range profile.Syscalls {
		for _, name := range rule.Names {
			theirs[name] = true
		}
	}
	for _, group := range seccomp.Base() {
		for _, rule := range group.Rules {
			for _, name := range rule.Calls {
				ours[name] = true
			}
		}
	}
	for reason, names := range leftOut() {
		for _, name := range names {
			out[name] = true
			if ours[name] {
				t.Errorf("%s is in the list and left out, since %s", name, reason)
			}
		}
	}
	for name := range theirs {
		if !ours[name] && !out[name] {
			t.Errorf("Docker's list has %s, which is neither in ours nor in leftOut", name)
		}
	}
	for name := range out {
		if !theirs[name] && runtime.GOARCH == "amd64" {
			t.Errorf("Docker's list has no %s any more; take it out of leftOut", name)
		}
	}
	for name := range ours {
		if !theirs[name] {
			t.Errorf("ours has %s, and Docker's list has not", name)
		}
	}
}
