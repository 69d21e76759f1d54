package confine

import (
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// TestRefusalIsTheList asks for each call that the executor never makes, and for some that it does, by the numbers of both architectures.
func TestRefusalIsTheList(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"amd64", "arm64"} {
		info, err := arch.GetInfo(name)
		if err != nil {
			t.Fatal(err)
		}
		program, err := refusal(info, powerful())
		if err != nil {
			t.Fatal(err)
		}
		checkRefusal(t, program, info)
	}
}

func checkRefusal(t *testing.T, program []unix.SockFilter, info *arch.Info) {
	t.Helper()
	const refused, unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	id := uint32(info.ID)
	number := func(name string) uint32 {
		n, ok := info.SyscallNames[name]
		if !ok {
			t.Errorf("%s has no system call %s", info.Name, name)
		}
		return uint32(n)
	}
	for _, name := range powerful() {
		if got := answerOf(t, program, id, number(name), [6]uint64{}); got != refused {
			t.Errorf("%s: %s is answered %#x", info.Name, name, got)
		}
	}
	for name, tt := range map[string]struct {
		arch, number uint32
		flags        uint64
		want         uint32
	}{
		"read":                    {id, number("read"), 0, unix.SECCOMP_RET_ALLOW},
		"execve":                  {id, number("execve"), 0, unix.SECCOMP_RET_ALLOW},
		"a thread":                {id, number("clone"), unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_FS, unix.SECCOMP_RET_ALLOW},
		"a process":               {id, number("clone"), unix.CLONE_VFORK | unix.CLONE_VM | unix.CLONE_PIDFD | uint64(unix.SIGCHLD), unix.SECCOMP_RET_ALLOW},
		"a user namespace":        {id, number("clone"), unix.CLONE_NEWUSER | uint64(unix.SIGCHLD), refused},
		"a namespace of mounts":   {id, number("clone"), unix.CLONE_NEWNS, refused},
		"clone3":                  {id, number("clone3"), 0, unknown},
		"of x32":                  {id, x32Bit | number("read"), 0, unix.SECCOMP_RET_KILL_PROCESS},
		"of another architecture": {unix.AUDIT_ARCH_I386, 21, 0, unix.SECCOMP_RET_KILL_PROCESS},
	} {
		// The flags are the first argument on both architectures.
		if got := answerOf(t, program, tt.arch, tt.number, [6]uint64{tt.flags}); got != tt.want {
			t.Errorf("%s: %s: %#x, want %#x", info.Name, name, got, tt.want)
		}
	}
}
