package attack

// layer is the part of a sandbox that must stop an attack. Others may stop it too.
type layer string

const (
	byFilter       layer = "seccomp"
	byNamespaces   layer = "namespaces"
	byMounts       layer = "mounts"
	byCapabilities layer = "capabilities"
	byIdentity     layer = "user ids"
	byDevices      layer = "devices"
	byLandlock     layer = "landlock"
	byCgroup       layer = "cgroup"
	byRlimits      layer = "rlimits"
	bySizes        layer = "sized file systems"
	byQuota        layer = "project quota"
	byInit         layer = "yurt-init"
	byProtocol     layer = "protocol of yurt-init"
	byResults      layer = "reader of results"
	byFileAPI      layer = "file API"
	byImages       layer = "unpacking of images"
	byEgress       layer = "egress proxy"
	byAnnouncer    layer = "announcer"
	byRunner       layer = "yurt run"
	bySlots        layer = "slots"
	byKernel       layer = "kernel"
)

// meaning describes a layer, for the page.
func (l layer) meaning() string {
	return map[layer]string{
		byFilter:       "the list of system calls that code may make",
		byNamespaces:   "processes, networks, names and mounts of the sandbox's own",
		byMounts:       "a read-only tree in which the host's files are not",
		byCapabilities: "code has no capability and can get no capability",
		byIdentity:     "code is a user without rights on the host",
		byDevices:      "device nodes that are not there, and the rules of the cgroup for them",
		byLandlock:     "rules for files that hold whatever a file's mode says",
		byCgroup:       "limits of memory, processes and processor time, and the end of all processes at once",
		byRlimits:      "limits of each process or user",
		bySizes:        "file systems in memory with a number of bytes and inodes",
		byQuota:        "the quota of a workspace on the node's disk",
		byInit:         "the first process of the sandbox, which code cannot reach",
		byProtocol:     "frames are bounded and checked, and an answer is not waited for without end",
		byResults:      "a program's result is bounded, and no more trusted than its output",
		byFileAPI:      "paths are resolved below the workspace",
		byImages:       "layers of images are unpacked below their directory",
		byEgress:       "the proxy of installations connects to listed hosts alone",
		byAnnouncer:    "answers of Consul are bounded, and lead nowhere",
		byRunner:       "a program gets pipes and none of its caller's descriptors",
		bySlots:        "the end of a session ends all of its processes",
		byKernel:       "a kernel without the flaw",
	}[l]
}
