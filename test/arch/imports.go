package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Direction says what of this module the packages under From may import. The row
// with the longest From that matches a package is the one that holds for it.
type Direction struct {
	From string   // a package of the module, or "x/..." for it and all below
	To   []string // likewise; nil means nothing of ours
	Why  string
}

// Directions is the one table of who may import whom: arrows run from commands
// through the parts to the domain, and never back or across.
func Directions() []Direction {
	const lean = "the launcher links it, which is started anew on each create: what it links is paid each time, the domain with its HTTP and gRPC included"
	return []Direction{
		{".", nil, "the domain holds values and rules, and every part speaks in them; it can depend on none"},
		{"access", []string{"."}, "scopes, keys and callers are values, and the Go client speaks in them too"},
		{"internal/...", nil, "a helper that several parts share knows none of them"},
		{"internal/linux/netns", []string{"internal/linux/lockedthread"}, "a thread that entered a namespace must not return to others"},
		{"internal/httpcode", []string{"."}, "the table of HTTP maps the codes of the domain"},
		{"internal/grpccode", []string{"."}, "the table of gRPC maps the codes of the domain"},
		{"hcl/...", []string{".", "internal/suggest", "internal/wholenumber"}, "a template file decodes to a value of the domain, whoever uses it then"},
		{"plugins", []string{".", "plugins/internal/...", "plugins/proto"}, "a runtime's author links this; it must not bring the host or the node along"},
		{"plugins/...", []string{".", "internal/grpccode", "internal/linux/oomscore", "internal/linux/power", "plugins/..."}, "a runtime's author links this; it must not bring the node along"},
		{"executor/...", []string{".", "executor/...", "internal/grpccode", "internal/linux/...", "internal/tracing", "internal/turns", "plugins/..."}, "a node owns sandboxes and knows nothing of sessions, their owners or template files"},
		{"executor/libcontainer", []string{"executor/disk/loop", "executor/hugepage", "executor/launch", "executor/seccomp", "internal/linux/lockedthread", "internal/linux/openat", "internal/linux/overlay", "internal/linux/pidfd", "executor/procview", "executor/rootfs/layout", "executor/sysmon"}, lean},
		{"executor/procview", nil, lean},
		{"executor/launch", []string{"internal/linux/descriptor", "internal/linux/flock", "executor/hugepage", "executor/rootfs/layout"}, lean},
		{"executor/disk/loop", nil, lean},
		{"executor/seccomp", nil, lean},
		{"controller", []string{".", "access", "controller/contract", "controller/execution", "controller/fleet", "controller/internal/clock", "controller/internal/life", "controller/internal/optional", "controller/internal/reach", "controller/lease", "internal/httpcode", "internal/suggest", "internal/tracing", "internal/turns"}, "the core of the controller knows nodes, stores and placers as interfaces alone"},
		{"controller/...", []string{".", "access", "controller/...", "hcl", "internal/httpcode", "internal/suggest", "internal/tracing", "internal/wholebody", "internal/wholenumber"}, "transports, stores and placers adapt the controller; a node is reached through its interface"},
		{"controller/contract", []string{"."}, "stores, nodes and placers are described in the values of the domain alone"},
		{"controller/execution", []string{".", "access", "controller/contract", "controller/internal/...", "internal/tracing"}, "executions know sessions as records; those who make and end sessions are above them"},
		{"controller/fleet", []string{".", "access", "controller/contract", "controller/internal/...", "internal/suggest"}, "the fleet reaches sessions and executions through interfaces of its own"},
		{"controller/lease", nil, "leases are names with holders; they know neither sessions nor clocks"},
		{"jobspecs", nil, "the jobs for Nomad are text; who registers them fills them in"},
		{"controller/sqlite", []string{".", "access", "controller/...", "internal/linux/flock", "executor/headroom"}, "the store's file belongs to one process, and keeps room on its disk, as a node's directory does"},
		{"controller/nomad", []string{".", "controller/...", "internal/turns", "jobspecs"}, "the engine makes each job from the jobspec that ships, or the operator's"},
		{"controller/pool", []string{"."}, "how many sandboxes are kept ready is a matter of demand, whatever they are made of"},
		{"controller/local", []string{".", "controller/contract", "controller/pool"}, "the local placer drives whatever node it is given; the executor is joined to it in cmd/yurt"},
		{"sdk/go/...", []string{".", "access", "internal/tracing", "sdk/go/..."}, "a client's author links this; it must not bring the server along"},
		{"cmd/yurt/...", []string{".", "access", "hcl/...", "plugins/...", "executor/...", "controller/...", "jobspecs", "sdk/go/...", "cmd/yurt/...", "internal/..."}, "the one command joins the parts"},
		{"driver", []string{".", "driver/internal/...", "executor/api", "executor/cgroup", "executor/doctor", "hcl", "internal/grpccode", "internal/linux/lockedthread"}, "Nomad's driver asks the node's executor by its API; of the executor itself it has what looks at the host"},
		{"driver/internal/drivertest", nil, "tasks for tests are Nomad's own values"},
		{"driver/internal/schema", []string{"."}, "Nomad's configuration is read the same way, whatever its fields mean"},
		{"driver/internal/pluginconfig", []string{".", "driver/internal/schema"}, "the operator's settings come first, and know no task"},
		{"driver/internal/taskspec", []string{".", "driver/internal/pluginconfig", "driver/internal/schema", "hcl", "internal/suggest"}, "a task is translated without a call to the executor"},
		{"driver/internal/node", []string{".", "driver/internal/pluginconfig", "executor/api", "internal/linux/flock"}, "the executor of the node is started and reached without a word of its tasks"},
		{"cmd/nomad-driver-yurt", []string{"driver"}, "the plugin is the driver, and a name for it"},
		{"cmd/yurt-init", []string{".", "executor/...", "internal/linux/..."}, "the first process of a sandbox is small: the protocol, and what it needs to start processes"},
		{"cmd/yurt-unpack", []string{"executor/confine", "executor/images"}, "the unpacker has no power, and no use for the parts that do"},
		{"cmd/yurt-files", []string{"executor/confine", "executor/files"}, "the server of files has no other power, and no use for the parts that do"},
		{"cmd/yurt-launcher", []string{"executor/libcontainer"}, "the launcher is re-executed on every create, and its size is paid each time"},
		{"cmd/yurt-runtime-c/...", []string{".", "plugins/..."}, "a runtime is a plugin like anybody else's"},
		{"cmd/yurt-runtime-cpp/...", []string{".", "plugins/..."}, "a runtime is a plugin like anybody else's"},
		{"cmd/yurt-runtime-csharp/...", []string{".", "plugins/..."}, "a runtime is a plugin like anybody else's"},
		{"cmd/yurt-runtime-go/...", []string{".", "plugins/..."}, "a runtime is a plugin like anybody else's"},
		{"cmd/yurt-runtime-java/...", []string{".", "plugins/..."}, "a runtime is a plugin like anybody else's"},
		{"cmd/yurt-runtime-r/...", []string{".", "plugins/..."}, "a runtime is a plugin like anybody else's"},
		{"cmd/yurt-runtime-rust/...", []string{".", "plugins/..."}, "a runtime is a plugin like anybody else's"},
		{"cmd/yurt-runtime-python/...", []string{".", "plugins/...", "cmd/yurt-runtime-python/..."}, "a runtime is a plugin like anybody else's"},
		{"cmd/yurt-runtime-javascript/...", []string{"plugins/..."}, "a runtime is a plugin like anybody else's"},
		{"cmd/yurt-runtime-typescript/...", []string{"plugins/..."}, "a runtime is a plugin like anybody else's"},
		{"cmd/yurt-runtime-bash/...", []string{"plugins/..."}, "a runtime is a plugin like anybody else's"},
		{"test/...", []string{".", "access", "hcl/...", "plugins/...", "executor/...", "controller/...", "jobspecs", "sdk/go/...", "internal/...", "test/..."}, "tests of more than one part may join any"},
	}
}

// CheckDirections reports each import of p that no row of table allows, and p
// itself when no row is about it.
func CheckDirections(table []Direction, p Package) []string {
	from, ours := p.Rel()
	if !ours {
		return nil
	}
	row, ok := rowFor(table, from)
	if !ok {
		return []string{fmt.Sprintf("%s: no row of Directions is about it; add one that says what it may import, and why", from)}
	}
	var broken []string
	for _, path := range p.Imports {
		to, ours := rel(path)
		if ours && !matchesAny(row.To, to) {
			broken = append(broken, fmt.Sprintf("%s imports %s, and may import %s: %s", from, to, orNothing(row.To), row.Why))
		}
	}
	return broken
}

func rowFor(table []Direction, from string) (Direction, bool) {
	var best Direction
	found := false
	for _, row := range table {
		if matches(row.From, from) && (!found || moreSpecific(row.From, best.From)) {
			best, found = row, true
		}
	}
	return best, found
}

// moreSpecific prefers the longer path, and a package to the same with all below.
func moreSpecific(a, b string) bool {
	pathA, pathB := strings.TrimSuffix(a, "/..."), strings.TrimSuffix(b, "/...")
	return len(pathA) > len(pathB) || len(pathA) == len(pathB) && len(a) < len(b)
}

func matches(pattern, path string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == dir || strings.HasPrefix(path, dir+"/")
	}
	return path == pattern
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

func orNothing(patterns []string) string {
	if len(patterns) == 0 {
		return "nothing of ours"
	}
	return strings.Join(patterns, ", ")
}

// Reserved says that one import, anywhere in or outside this module, is kept for
// a few packages of ours, tests included.
type Reserved struct {
	Import string   // an import path, or "x/..." for it and all below
	For    []string // packages of the module as in [Direction]
	Why    string
}

// Reservations is the table of imports that are kept for a few.
func Reservations() []Reserved {
	return []Reserved{
		{"github.com/opencontainers/runc/...", []string{"executor/libcontainer/..."}, "libcontainer needs cgo, takes over the process at start and weighs 8 MB; it lives behind one package"},
		{"github.com/hashicorp/consul/api", []string{"executor/announce", "controller/consul", "test/..."}, "what is in Consul is written by one package and read by one; everything else works without it"},
		{"github.com/google/go-containerregistry/...", []string{"executor/images", "test/..."}, "what a registry says is believed by one package, which checks it"},
		{Module + "/executor/libcontainer", []string{"cmd/yurt-launcher", "executor/libcontainer/..."}, "whoever imports it links runc; only the small launcher may, so that yurt itself stays pure Go"},
		{Module + "/executor/sandbox", []string{"executor", "executor/node", "executor/kernel", "executor/run", "executor/start", "executor/sandbox"}, "the parts of the executor import in one order, so that each can be read without those above it; the sandbox is the lowest"},
		{Module + "/executor/start", []string{"executor", "executor/node", "executor/kernel", "executor/run", "executor/start"}, "of the parts of the executor, the start of a process is above the sandbox alone"},
		{Module + "/executor/run", []string{"executor", "executor/node", "executor/kernel", "executor/run"}, "of the parts of the executor, an execution is above the sandbox and the start of a process"},
		{Module + "/executor/kernel", []string{"executor", "executor/node", "executor/kernel/..."}, "of the parts of the executor, contexts and functions are above executions"},
		{Module + "/executor/node", []string{"executor", "executor/node/..."}, "of the parts of the executor, the node is the highest, and the executor is its only door"},
		{Module + "/executor/launch", []string{"executor", "executor/broker", "executor/libcontainer", "executor/launch"}, "calls that need power over the host go through the broker's requests"},
		{Module + "/executor/cgroup", []string{"driver", "executor", "executor/broker/...", "executor/cgroup", "executor/confine", "executor/doctor", "executor/initd/pid1"}, "changes of a run's cgroup go through the broker's requests; the others look at the host or hold programs of ours"},
		{Module + "/internal/linux/netns", []string{"executor/broker", "internal/linux/netns"}, "calls that need power over the host go through the broker's requests"},
		{Module + "/executor/api/proto", []string{"executor/api/..."}, "the wire form of the executor's API is one package's to speak; others use its client"},
		{Module + "/cmd/...", []string{"cmd/..."}, "a command is an end, not a library"},
	}
}

// CheckReserved reports each import of p, or of its tests, that is kept for others.
func CheckReserved(table []Reserved, p Package) []string {
	from, ours := p.Rel()
	if !ours {
		return nil
	}
	var broken []string
	for _, path := range p.AllImports() {
		for _, row := range table {
			if matches(row.Import, path) && !matchesAny(row.For, from) {
				broken = append(broken, fmt.Sprintf("%s imports %s, which is kept for %s: %s", from, path, strings.Join(row.For, ", "), row.Why))
			}
		}
	}
	return broken
}
