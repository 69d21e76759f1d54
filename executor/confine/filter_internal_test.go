package confine

import (
	"encoding/binary"
	"syscall"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/seccomp"
)

// answerOf runs the program as the kernel does, on a call of the number with the arguments.
func answerOf(t *testing.T, program []unix.SockFilter, id, number uint32, args [6]uint64) uint32 {
	t.Helper()
	data := binary.NativeEndian.AppendUint32(nil, number)
	data = binary.NativeEndian.AppendUint32(data, id)
	data = binary.NativeEndian.AppendUint64(data, 0)
	for _, arg := range args {
		data = binary.NativeEndian.AppendUint64(data, arg)
	}
	accumulator := uint32(0)
	for at := 0; at < len(program); at++ {
		i := program[at]
		holds := false
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			accumulator = binary.NativeEndian.Uint32(data[i.K:])
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			accumulator &= i.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		case unix.BPF_JMP | unix.BPF_JA:
			at += int(i.K)
			continue
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JEQ:
			holds = accumulator == i.K
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JGE:
			holds = accumulator >= i.K
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JGT:
			holds = accumulator > i.K
		default:
			t.Fatalf("instruction %d has the unknown code %#x", at, i.Code)
		}
		if holds {
			at += int(i.Jt)
		} else {
			at += int(i.Jf)
		}
	}
	t.Fatal("the program has no answer")
	return 0
}

// meeting returns arguments for which the conditions hold.
func meeting(when []seccomp.Condition) (args [6]uint64) {
	for _, c := range when {
		args[c.Arg] = c.Value
		if c.Not {
			args[c.Arg]++
		}
	}
	return args
}

// TestFilterIsTheList compiles the lists of programs and of sandboxes, and asks for each rule.
func TestFilterIsTheList(t *testing.T) {
	t.Parallel()
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	native := uint32(info.ID)
	for name, list := range map[string][]seccomp.Group{"programs": seccomp.Programs(), "sandboxes": seccomp.For([]string{seccomp.Devices, seccomp.PerfSelf})} {
		program, err := compile(list)
		if err != nil {
			t.Fatal(err)
		}
		rules := 0
		for _, group := range list {
			for _, rule := range group.Rules {
				for _, call := range rule.Calls {
					number, ok := info.SyscallNames[call]
					if !ok {
						continue
					}
					rules++
					if got, want := answerOf(t, program, native, uint32(number), meeting(rule.When)), answer(rule.Answer); got != want {
						t.Errorf("%s: %s with %v is answered %#x, want %#x", name, call, rule.When, got, want)
					}
				}
			}
		}
		if rules < 300 {
			t.Errorf("%s: this machine has %d of the rules", name, rules)
		}
	}
}

// TestFilterRefuses asks for calls that are in no list.
func TestFilterRefuses(t *testing.T) {
	t.Parallel()
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	program, err := compile(seccomp.Programs())
	if err != nil {
		t.Fatal(err)
	}
	native := uint32(info.ID)
	refused := func(errno syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
	for name, tt := range map[string]struct {
		arch, number uint32
		args         [6]uint64
		want         uint32
	}{
		"mount":                    {native, unix.SYS_MOUNT, [6]uint64{}, refused(unix.EPERM)},
		"a namespace":              {native, unix.SYS_CLONE, [6]uint64{unix.CLONE_NEWUSER}, refused(unix.EPERM)},
		"clone3":                   {native, unix.SYS_CLONE3, [6]uint64{}, refused(unix.ENOSYS)},
		"socket of TCP":            {native, unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_STREAM}, refused(unix.EPERM)},
		"PTRACE_ATTACH":            {native, unix.SYS_PTRACE, [6]uint64{unix.PTRACE_ATTACH}, refused(unix.EPERM)},
		"TIOCSTI":                  {native, unix.SYS_IOCTL, [6]uint64{0, unix.TIOCSTI}, refused(unix.EPERM)},
		"newer than the list":      {native, 2000, [6]uint64{}, refused(unix.ENOSYS)},
		"of x32":                   {native, x32Bit | unix.SYS_READ, [6]uint64{}, unix.SECCOMP_RET_KILL_PROCESS},
		"of another architecture":  {unix.AUDIT_ARCH_I386, 3, [6]uint64{}, unix.SECCOMP_RET_KILL_PROCESS},
		"bits beyond an int count": {native, unix.SYS_SOCKET, [6]uint64{unix.AF_UNIX | 1<<32, unix.SOCK_STREAM}, unix.SECCOMP_RET_ALLOW},
	} {
		if got := answerOf(t, program, tt.arch, tt.number, tt.args); got != tt.want {
			t.Errorf("%s: %#x, want %#x", name, got, tt.want)
		}
	}
}
