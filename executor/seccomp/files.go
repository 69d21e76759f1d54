package seccomp

import "golang.org/x/sys/unix"

func files() Group {
	return Group{
		Name: "files",
		Reason: "Programs read and write files. Mounts, permissions and landlock say which. Handles of files can be made and not opened. " +
			"The number of locks is bounded by yurt-init; leases and notices of directories, which are kinds of locks too, are left out.",
		Rules: slicesOf([]Rule{allow(
			"access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3",
			"faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchown", "fchownat",
			"fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync", "ftruncate",
			"futimesat", "getcwd", "getdents", "getdents64", "getxattr", "lchown", "lgetxattr", "link", "linkat", "listxattr",
			"llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "mkdir", "mkdirat", "mknod", "mknodat", "name_to_handle_at",
			"newfstatat", "open", "openat", "openat2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read",
			"readahead", "readlink", "readlinkat", "readv", "removexattr", "rename", "renameat", "renameat2", "rmdir", "sendfile",
			"setxattr", "stat", "statfs", "statx", "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "truncate", "umask",
			"unlink", "unlinkat", "utime", "utimensat", "utimes", "write", "writev",
		)}, each(Allow, "fcntl", 1, descriptorRequests()), each(unix.EINVAL, "fcntl", 1, unknownRequests())),
	}
}

// Requests of fcntl(2) of which x/sys/unix has no names.
const (
	getOwnerUsers = 17
	getLock64     = 12 // this one and the next two are of 32-bit kernels
	setLock64     = 13
	waitLock64    = 14
	cancelLock    = 1029
)

// descriptorRequests are those of fcntl(2) that code may make.
func descriptorRequests() []uint64 {
	return []uint64{
		unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_DUPFD_QUERY, unix.F_CREATED_QUERY, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
		unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_GETLEASE,
		unix.F_GETOWN, unix.F_SETOWN, unix.F_GETOWN_EX, unix.F_SETOWN_EX, getOwnerUsers, unix.F_GETSIG, unix.F_SETSIG,
		unix.F_GETPIPE_SZ, unix.F_SETPIPE_SZ, unix.F_GET_SEALS, unix.F_ADD_SEALS, unix.F_GET_RW_HINT, unix.F_SET_RW_HINT,
		unix.F_GET_FILE_RW_HINT, unix.F_SET_FILE_RW_HINT,
	}
}

// unknownRequests are those that code is told that this kernel has not. Leases and delegations are locks that outlive every descriptor of
// a file that is mapped.
func unknownRequests() []uint64 {
	return []uint64{unix.F_SETLEASE, unix.F_NOTIFY, unix.F_SETDELEG, unix.F_GETDELEG, getLock64, setLock64, waitLock64, cancelLock}
}

func watches() Group {
	return Group{
		Name:   "waiting for files and timers",
		Reason: "Event loops need epoll, and build tools watch directories. Fanotify and asynchronous I/O, of either kind, are left out: they take memory of a store that the whole host shares, or are new and large.",
		Rules: []Rule{allow(
			"epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd", "eventfd2",
			"inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "poll", "ppoll", "pselect6", "select",
			"signalfd", "signalfd4", "timerfd_create", "timerfd_gettime", "timerfd_settime",
		)},
	}
}

func pipes() Group {
	return Group{
		Name:   "pipes",
		Reason: "Shells join programs by pipes. Their pages are charged.",
		Rules:  []Rule{allow("pipe", "pipe2", "splice", "tee", "vmsplice")},
	}
}

func sysV() Group {
	return Group{
		Name:   "messages between processes",
		Reason: "PostgreSQL and others share memory of System V. Its objects are of the sandbox's ipc namespace, and charged. The limit of bytes in queues of POSIX is 0.",
		Rules: []Rule{
			allow(
				"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl", "msgget", "msgrcv",
				"msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt",
			),
			allowIf("shmget", without(2, shmHugeTLB)),
			answer(noMemory, "shmget", with(2, shmHugeTLB)),
		},
	}
}
