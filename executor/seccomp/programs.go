package seccomp

import "golang.org/x/sys/unix"

// Programs is the list of the node's own helper programs, such as language runtimes, which need neither a network nor another
// process: it is that of sandboxes without memory and messages shared between processes, without sockets of a network and
// without most requests to devices.
func Programs() []Group {
	return []Group{
		files(), watches(), pipes(), memory(), processes(), beginning(), identity(), signals(), clocks(), scheduling(), localSockets(), options(), fileRequestsAlone(),
	}
}

// beginning allows two requests of ptrace, by which a process is stopped before its first instruction.
func beginning() Group {
	const traceMe, detach = 0, 17
	return Group{
		Name: "the beginning of a program",
		Reason: "A program is stopped by the one that starts it until its limits are in force, and then let go. A process that asks to be traced is traced by its " +
			"parent, which has no request in this list that reads or changes it.",
		Rules: each(Allow, "ptrace", 0, []uint64{traceMe, detach}),
	}
}

func localSockets() Group {
	group := Group{
		Name:   "sockets of the machine",
		Reason: "A helper program listens on a Unix socket in its own directory. It has no network.",
	}
	for _, rule := range sockets().Rules {
		domain := func(c Condition) bool { return c.Arg == 0 }
		local := true
		for _, c := range rule.When {
			if rule.Calls[0] == "socket" && domain(c) && c.Value != unix.AF_UNIX {
				local = false
			}
		}
		if local {
			group.Rules = append(group.Rules, rule)
		}
	}
	return group
}

func fileRequestsAlone() Group {
	return Group{
		Name:   "requests about files",
		Reason: "Programs ask about descriptors and files, and whether a file is a terminal.",
		Rules:  slicesOf(each(Allow, "ioctl", 1, fileRequests()), each(unix.ENOTTY, "ioctl", 1, terminalRequests())),
	}
}

// FileServer is the list of the program that serves files of sandboxes: that of other programs without the start of processes and without a change
// of the user, except of the one as which a thread uses files.
func FileServer() []Group {
	return []Group{
		files(), watches(), memory(), threads(), userOfFiles(), ownSignals(), clocks(), scheduling(), localSockets(), options(), fileRequestsAlone(),
	}
}

func threads() Group {
	return Group{
		Name:   "threads",
		Reason: "A program of Go starts threads, one for each call that waits. It reads its limits.",
		Rules: []Rule{
			allow("exit", "exit_group", "futex", "getpid", "getppid", "gettid", "restart_syscall", "rseq", "set_robust_list", "getrlimit"),
			allowIf("clone", Condition{Arg: 0, Mask: namespaces | threadWithFiles, Value: threadWithFiles}),
			answer(unix.ENOSYS, "clone3"),
			allowIf("prlimit64", null(2)),
			answer(unix.EINVAL, "prctl", is(0, unix.PR_SET_VMA)),
		},
	}
}

func userOfFiles() Group {
	return Group{
		Name:   "the user of files",
		Reason: "A thread uses the files of a sandbox as a user of that sandbox.",
		Rules:  []Rule{allow("getegid", "geteuid", "getgid", "getuid", "setfsgid", "setfsuid", "uname")},
	}
}

func ownSignals() Group {
	return Group{
		Name:   "signals of the process",
		Reason: "Go interrupts threads of its own process.",
		Rules:  []Rule{allow("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "tgkill")},
	}
}
