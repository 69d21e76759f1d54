package oci

// maskedPaths are the files of /proc that tell of the host or act on it. yurt-init masks all others of /proc itself that
// executor/procview does not know, whatever the kernel has; libcontainer, which mounts under a label, masks these alone.
func maskedPaths() []string {
	return []string{
		// Memory, symbols, keys and buttons of the kernel.
		"/proc/kallsyms", "/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kmsg", "/proc/kpagecgroup", "/proc/kpagecount",
		"/proc/kpageflags", "/proc/sysrq-trigger", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/iomem", "/proc/ioports",
		// Work of the host and of neighbours.
		"/proc/buddyinfo", "/proc/cgroups", "/proc/diskstats", "/proc/fs", "/proc/interrupts", "/proc/irq", "/proc/latency_stats",
		"/proc/locks", "/proc/mdstat", "/proc/pagetypeinfo", "/proc/pressure", "/proc/sched_debug", "/proc/schedstat",
		"/proc/softirqs", "/proc/timer_list", "/proc/timer_stats", "/proc/zoneinfo",
		// Facts about the host, by which it is told from others.
		"/proc/acpi", "/proc/asound", "/proc/bus", "/proc/cmdline", "/proc/config.gz", "/proc/consoles", "/proc/crypto",
		"/proc/devices", "/proc/dma", "/proc/driver", "/proc/execdomains", "/proc/fb", "/proc/misc", "/proc/modules", "/proc/mtrr",
		"/proc/partitions", "/proc/scsi", "/proc/tty",
		// The same in /proc/sys. Its other files are settings, which tell of no work.
		"/proc/sys/debug", "/proc/sys/dev", "/proc/sys/fs/aio-nr", "/proc/sys/fs/dentry-negative", "/proc/sys/fs/dentry-state",
		"/proc/sys/fs/file-nr", "/proc/sys/fs/inode-nr", "/proc/sys/fs/inode-state", "/proc/sys/fs/quota", "/proc/sys/fs/xfs",
		"/proc/sys/kernel/hung_task_detect_count", "/proc/sys/kernel/pty/nr", "/proc/sys/sunrpc",
	}
}

// readonlyPaths are the files of /proc that may be read and never written.
func readonlyPaths() []string { return []string{"/proc/sys"} }
