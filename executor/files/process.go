package files

import (
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// Start starts cmd as a process that serves files: in a user namespace that has the ids of sandboxes alone, with the power to act as each of
// their users there and with no power over the host. The process is the first user of the range, which no program of a sandbox's user is. It has
// namespaces for network, messages and names of its own, and no program that it starts gets more power. The kernel ends it with this process.
//
// The thread on which it is started lives until the process has been waited for, since the kernel counts the parent by threads. The caller calls
// wait, once.
func Start(cmd *exec.Cmd, ids Range) (wait func() error, err error) {
	mapping := []syscall.SysProcIDMap{{ContainerID: ids.First, HostID: ids.First, Size: ids.Count}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:                 unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings:                mapping,
		GidMappings:                mapping,
		GidMappingsEnableSetgroups: true,
		Credential:                 &syscall.Credential{Uid: uint32(ids.First), Gid: uint32(ids.First)},
		AmbientCaps:                []uintptr{unix.CAP_SETUID, unix.CAP_SETGID},
		Pdeathsig:                  syscall.SIGKILL,
		Setpgid:                    true,
	}
	started, ended := make(chan error, 1), make(chan error, 1)
	go lockedthread.Run(func() {
		// For the thread's children, and for good: the thread ends with this function.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			started <- fmt.Errorf("giving up new privileges: %w", err)
			return
		}
		if err := cmd.Start(); err != nil {
			started <- fmt.Errorf("starting the process that serves files: %w", err)
			return
		}
		started <- nil
		ended <- cmd.Wait()
	})
	if err := <-started; err != nil {
		return nil, err
	}
	return func() error { return <-ended }, nil
}
