package seccomp

import "golang.org/x/sys/unix"

const (
	shmHugeTLB = 0o4000
	// noMemory is the error of a kernel that has no huge pages left.
	noMemory = unix.ENOMEM
)

func memory() Group {
	return Group{
		Name: "memory",
		Reason: "Programs map and protect memory; compilers at run time make it executable. Huge pages that the host has put aside are charged to no " +
			"memory cgroup: a mapping of them fails as where there are none. Secret memory is left out, and so is naming of mappings, whose names are not charged.",
		Rules: []Rule{
			allow(
				"brk", "madvise", "membarrier", "mincore", "mlock", "mlock2", "mlockall", "mprotect", "mremap", "msync", "munlock",
				"munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect", "remap_file_pages",
			),
			allowIf("mmap", without(3, unix.MAP_HUGETLB)),
			answer(noMemory, "mmap", with(3, unix.MAP_HUGETLB)),
			allowIf("memfd_create", without(1, unix.MFD_HUGETLB)),
			answer(unix.EINVAL, "memfd_create", with(1, unix.MFD_HUGETLB)), // Chromium passes all flags and ends with another error than this
		},
	}
}
