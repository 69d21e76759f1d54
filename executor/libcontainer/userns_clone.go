//go:build linux && cgo && seccomp

package libcontainer

/*
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// wait_forever is all that the process in the namespace does. It shares the launcher's memory and so makes nothing but a system call,
// with all signals blocked.
static int wait_forever(void *unused) {
	for (;;)
		syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}

// start_in_namespace starts a process in a user namespace of its own, owned by the effective user of the calling thread. Its end sends
// no signal. The stack must last until then.
static int start_in_namespace(char *stack, size_t size) {
	unsigned long every[1], before[1];
	int pid, failed;

	memset(every, 0xff, sizeof(every));
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, every, before, sizeof(every)) != 0)
		return -errno;
	pid = clone(wait_forever, stack + size, CLONE_VM | CLONE_NEWUSER, NULL);
	failed = errno;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, sizeof(before));
	return pid < 0 ? -failed : pid;
}
*/
import "C"

import "syscall"

// startInNamespace starts a process in a new user namespace, which the effective user of the calling thread owns. The process waits
// until it is killed. Call free after its end.
func startInNamespace() (pid int, free func(), err error) {
	const size = 16 << 10
	stack := C.malloc(size)
	pid = int(C.start_in_namespace((*C.char)(stack), size))
	if pid < 0 {
		C.free(stack)
		return 0, nil, syscall.Errno(-pid)
	}
	return pid, func() { C.free(stack) }, nil
}
