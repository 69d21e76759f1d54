package confine

import (
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// TestRefusalIsTheList asks for each call that the executor never makes, and for some that it does.
func TestRefusalIsTheList(t *testing.T) {
	t.Parallel()
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	program, err := refusal(powerful())
	if err != nil {
		t.Fatal(err)
	}
	const refused, unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	native := uint32(info.ID)
	for _, name := range powerful() {
		if got := answerOf(t, program, native, uint32(info.SyscallNames[name]), [6]uint64{}); got != refused {
			t.Errorf("%s is answered %#x", name, got)
		}
	}
	for name, tt := range map[string]struct {
		arch, number uint32
		flags        uint64
		want         uint32
	}{
		"read":                    {native, unix.SYS_READ, 0, unix.SECCOMP_RET_ALLOW},
		"execve":                  {native, unix.SYS_EXECVE, 0, unix.SECCOMP_RET_ALLOW},
		"a thread":                {native, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_FS, unix.SECCOMP_RET_ALLOW},
		"a process":               {native, unix.SYS_CLONE, unix.CLONE_VFORK | unix.CLONE_VM | unix.CLONE_PIDFD | uint64(unix.SIGCHLD), unix.SECCOMP_RET_ALLOW},
		"a user namespace":        {native, unix.SYS_CLONE, unix.CLONE_NEWUSER | uint64(unix.SIGCHLD), refused},
		"a namespace of mounts":   {native, unix.SYS_CLONE, unix.CLONE_NEWNS, refused},
		"clone3":                  {native, unix.SYS_CLONE3, 0, unknown},
		"of x32":                  {native, x32Bit | unix.SYS_READ, 0, unix.SECCOMP_RET_KILL_PROCESS},
		"of another architecture": {unix.AUDIT_ARCH_I386, 21, 0, unix.SECCOMP_RET_KILL_PROCESS},
	} {
		// The flags are the first argument on both architectures.
		if got := answerOf(t, program, tt.arch, tt.number, [6]uint64{tt.flags}); got != tt.want {
			t.Errorf("%s: %#x, want %#x", name, got, tt.want)
		}
	}
}
