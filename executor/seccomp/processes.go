package seccomp

import "golang.org/x/sys/unix"

// namespaces are the flags of clone(2) that make one.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// threadWithFiles are flags of clone(2). All threads of a process have the same files, so that yurt-init can count the locks in them.
const threadWithFiles = unix.CLONE_THREAD | unix.CLONE_FILES

func processes() Group {
	return Group{
		Name: "processes and threads",
		Reason: "Programs start others. A filter cannot see the flags of clone3, so that C libraries are told to use clone. A thread has the files of its process. The personality may switch " +
			"the layout of addresses and the name of the system alone. A filter of code's own would take executable memory of which the host has one store, " +
			"and is refused as by a kernel without them; modify_ldt is left out.",
		Rules: append([]Rule{
			allow(
				"arch_prctl", "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_waitv", "get_robust_list",
				"get_thread_area", "getpgid", "getpgrp", "getpid", "getppid", "getsid", "gettid", "pidfd_open",
				"process_mrelease", "restart_syscall", "rseq", "set_robust_list", "set_thread_area", "set_tid_address", "setpgid",
				"setsid", "vfork", "wait4", "waitid", "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self",
			),
			allowIf("clone", without(0, namespaces|unix.CLONE_THREAD)),
			allowIf("clone", Condition{Arg: 0, Mask: namespaces | threadWithFiles, Value: threadWithFiles}),
			answer(unix.ENOSYS, "clone3"),
			allowIf("seccomp", is(0, unix.SECCOMP_SET_MODE_STRICT)),
			allowIf("seccomp", is(0, unix.SECCOMP_GET_ACTION_AVAIL)),
			answer(unix.EINVAL, "seccomp", is(0, unix.SECCOMP_SET_MODE_FILTER)),
		}, slicesOf(
			each(Allow, "personality", 0, []uint64{0, 0x8, 0x20000, 0x20008, half}),
			each(Allow, "prctl", 0, prctls()),
			each(unix.EINVAL, "prctl", 0, []uint64{unix.PR_SET_SECCOMP, unix.PR_SET_VMA}),
			limits(),
		)...),
	}
}

// prctls are the operations by which a process reads and sets its own attributes. Left out are those that
// merge pages with other processes, share a core's scheduling, or move parts of its own image.
func prctls() []uint64 {
	return []uint64{
		unix.PR_SET_PDEATHSIG, unix.PR_GET_PDEATHSIG, unix.PR_GET_DUMPABLE, unix.PR_SET_DUMPABLE, unix.PR_GET_UNALIGN, unix.PR_SET_UNALIGN,
		unix.PR_GET_KEEPCAPS, unix.PR_SET_KEEPCAPS, unix.PR_GET_FPEXC, unix.PR_SET_FPEXC, unix.PR_GET_TIMING, unix.PR_SET_TIMING,
		unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_GET_ENDIAN, unix.PR_GET_SECCOMP, unix.PR_CAPBSET_READ, unix.PR_CAPBSET_DROP,
		unix.PR_GET_TSC, unix.PR_SET_TSC, unix.PR_GET_SECUREBITS, unix.PR_SET_SECUREBITS, unix.PR_SET_TIMERSLACK, unix.PR_GET_TIMERSLACK,
		unix.PR_TASK_PERF_EVENTS_DISABLE, unix.PR_TASK_PERF_EVENTS_ENABLE, unix.PR_MCE_KILL, unix.PR_MCE_KILL_GET,
		unix.PR_SET_CHILD_SUBREAPER, unix.PR_GET_CHILD_SUBREAPER, unix.PR_SET_NO_NEW_PRIVS, unix.PR_GET_NO_NEW_PRIVS,
		unix.PR_GET_TID_ADDRESS, unix.PR_SET_THP_DISABLE, unix.PR_GET_THP_DISABLE, unix.PR_CAP_AMBIENT,
		unix.PR_SVE_SET_VL, unix.PR_SVE_GET_VL, unix.PR_GET_SPECULATION_CTRL, unix.PR_SET_SPECULATION_CTRL, unix.PR_PAC_RESET_KEYS,
		unix.PR_SET_TAGGED_ADDR_CTRL, unix.PR_GET_TAGGED_ADDR_CTRL, unix.PR_SET_SYSCALL_USER_DISPATCH,
		unix.PR_PAC_SET_ENABLED_KEYS, unix.PR_PAC_GET_ENABLED_KEYS, unix.PR_SME_SET_VL, unix.PR_SME_GET_VL,
		unix.PR_SET_MDWE, unix.PR_GET_MDWE, unix.PR_GET_MEMORY_MERGE, unix.PR_GET_AUXV, unix.PR_SET_PTRACER,
	}
}

// limits keeps code from changing the limit of core dumps. At the limit that a sandbox starts with the
// kernel makes no dump; with a limit of 0 a crash would start the host's program for core dumps, if it
// has one, as root. A change of this limit seems to succeed, since programs that lower it give up otherwise.
func limits() []Rule {
	const resources = 16
	rules := []Rule{
		allow("getrlimit"),
		allowIf("prlimit64", is(1, unix.RLIMIT_CORE), null(2)), // to read it
		answer(Pretend, "prlimit64", is(1, unix.RLIMIT_CORE), given(2)),
		answer(Pretend, "setrlimit", is(0, unix.RLIMIT_CORE)),
	}
	for resource := range uint64(resources) {
		if resource != unix.RLIMIT_CORE {
			rules = append(rules, allowIf("setrlimit", is(0, resource)), allowIf("prlimit64", is(1, resource)))
		}
	}
	return rules
}

// forks allows two requests of ptrace.
func forks() Group {
	const cont, seize = 7, 0x4206
	return Group{
		Name: "forks",
		Reason: "An interpreter that is forked for each run learns at the end of a run which memory the run used, and copies that ahead for the next one. " +
			"For this it seizes its child and lets it go on. All requests that read or change a process are in the group ptrace.",
		Rules: each(Allow, "ptrace", 0, []uint64{seize, cont}),
	}
}

func identity() Group {
	return Group{
		Name:   "identity",
		Reason: "Programs look up whose they are, and set the user that they are already. A sandbox has no capability by which they could become another.",
		Rules: []Rule{allow(
			"capget", "capset", "getegid", "geteuid", "getgid", "getgroups", "getresgid", "getresuid", "getuid", "setfsgid",
			"setfsuid", "setgid", "setgroups", "setregid", "setresgid", "setresuid", "setreuid", "setuid", "sysinfo", "uname",
		)},
	}
}

func signals() Group {
	return Group{
		Name:   "signals",
		Reason: "Processes of a sandbox signal one another; landlock and the pid namespace keep signals in it.",
		Rules: []Rule{allow(
			"kill", "pause", "pidfd_send_signal", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn",
			"rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sigaltstack", "tgkill", "tkill",
		)},
	}
}

func clocks() Group {
	return Group{
		Name:   "clocks",
		Reason: "Programs read clocks, sleep and set timers of their own. No call sets a clock of the host.",
		Rules: []Rule{allow(
			"alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday", "nanosleep", "setitimer", "time",
			"timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime", "times",
		)},
	}
}

func scheduling() Group {
	return Group{
		Name:   "scheduling",
		Reason: "Programs choose processors and priorities for their threads, within the limits, which allow no real time and no higher priority. Random numbers belong to no other group.",
		Rules: []Rule{allow(
			"getcpu", "getpriority", "getrandom", "getrusage", "ioprio_get", "ioprio_set", "sched_get_priority_max",
			"sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler",
			"sched_rr_get_interval", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield",
			"setpriority",
		)},
	}
}
