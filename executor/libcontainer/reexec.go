//go:build linux && cgo && seccomp

package libcontainer

/*
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

// stay keeps a process on its way into a sandbox on the processor that it is on, until
// yurt-init is there, which lets go of it. It starts Go twice, and Go hands over from one
// thread to another a dozen times until it has started, which is quick only where the next
// thread need not be woken up on a processor that sleeps.
static void __attribute__((constructor)) stay(void) {
	cpu_set_t here;
	int cpu;

	if (getenv("_LIBCONTAINER_INITPIPE") == NULL)
		return; // this is the launcher
	cpu = sched_getcpu();
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	sched_setaffinity(0, sizeof(here), &here); // or it is slower
}
*/
import "C"

import (
	"os"

	"github.com/opencontainers/runc/libcontainer"
	_ "github.com/opencontainers/runc/libcontainer/nsenter" // runs before main, in C
)

// InitIfReexeced carries on with making a sandbox, and does not return, when
// libcontainer has started this program again for that. main calls it first.
func InitIfReexeced() {
	if len(os.Args) > 1 && os.Args[1] == "init" {
		libcontainer.Init()
	}
}
