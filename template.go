package yurt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Template defines an environment, from which the sandboxes of a session are made. It is a plain
// value; HCL and JSON decode to it.
type Template struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Extends names the template that it was made from, if any. The inherited settings are copied
	// here: the name keeps that template from being deleted, and has no part in the JSON form.
	Extends  string            `json:"-"`
	RootFS   RootFS            `json:"rootfs"`
	Runtimes []string          `json:"runtimes"` // names of the language runtimes it can run
	Env      map[string]string `json:"env,omitempty"`
	// Dependencies are packages that every execution finds, by the runtime whose package
	// manager installs them.
	Dependencies map[string][]string `json:"dependencies,omitempty"`
	// Kernels name the interpreter that contexts of a runtime's language have, where it is
	// not the runtime's own.
	Kernels map[string]string `json:"kernels,omitempty"`
	// Preload are modules of the language of the first runtime that are imported ahead of
	// code which runs without a context.
	Preload   []string      `json:"preload,omitempty"`
	Resources Resources     `json:"resources"` // defaults of its sessions
	Isolation Isolation     `json:"isolation"`
	Network   Network       `json:"network"`
	Session   SessionLimits `json:"session"`
	WarmPool  WarmPool      `json:"warm_pool,omitzero"`
}

const (
	// DefaultTemplate is the template of a session that names no template.
	DefaultTemplate = "default"
	// DefaultLanguage is that of code which names no language, if the template has it among others.
	DefaultLanguage = "python"
)

// RootFS says where a sandbox's root file system comes from.
type RootFS struct {
	// HostPaths are directories and files of the host that are bound read-only at
	// the same path, in bwrap's manner. A symbolic link (such as /bin on a merged
	// /usr) is made again, not followed.
	HostPaths []string `json:"host_paths"`
	// Image is the reference of a container image whose files there are instead: in a
	// registry, or in a directory in the OCI layout ("oci:/srv/images/tool").
	Image string `json:"image,omitempty"`
}

// IsolationLevel names the barrier between a sandbox and the host.
type IsolationLevel string

// IsolationNamespaces shares the host's kernel; see docs/SECURITY.md.
const IsolationNamespaces IsolationLevel = "namespaces"

// Isolation says how sandboxes of a template are isolated.
type Isolation struct {
	Level IsolationLevel `json:"level"`
	// PerExecution gives each execution a pid, mount and ipc namespace of its own inside the
	// sandbox, with its own /proc, /tmp and /dev/shm. Its background processes end with it.
	PerExecution bool `json:"per_execution,omitempty"`
	// SystemCalls names groups of system calls that code may make beside those of every
	// sandbox; see [SystemCallGroups].
	SystemCalls []string `json:"system_calls,omitempty"`
}

// Groups of system calls that a template may add; docs/SECURITY.md explains what each adds to the reach of code.
const (
	CallsPtrace   = "ptrace"    // debuggers: to look into other processes of the sandbox
	CallsPerfSelf = "perf-self" // profilers: to count events of the own process
)

// SystemCallGroups returns the names that [Isolation.SystemCalls] may have.
func SystemCallGroups() []string { return []string{CallsPtrace, CallsPerfSelf} }

// NetworkMode names the destinations that a sandbox can reach.
type NetworkMode string

// NetworkNone gives a sandbox only a loopback interface of its own.
const NetworkNone NetworkMode = "none"

// Network describes the destinations that a sandbox can reach.
type Network struct {
	Mode NetworkMode `json:"mode"`
	// Packages says whether sessions may install packages by the node's package service; ""
	// means [PackagesRegistries].
	Packages PackagesMode `json:"packages,omitempty"`
}

// PackagesMode says whether the sessions of a template may install packages.
type PackagesMode string

const (
	// PackagesRegistries lets them, from the registries of the node.
	PackagesRegistries PackagesMode = "registries"
	// PackagesNone lets them have the template's own dependencies and no others.
	PackagesNone PackagesMode = "none"
)

// SessionLimits are the defaults that a template gives to its sessions.
type SessionLimits struct {
	Timeout          Duration `json:"timeout"`
	IdleTimeout      Duration `json:"idle_timeout"`
	ExecutionTimeout Duration `json:"execution_timeout"`
	OutputLimit      Size     `json:"output_limit"`
}

// WarmPool says how many sandboxes of a template a node keeps ready to be claimed. The zero value
// turns the pool off.
type WarmPool struct {
	Min         int      `json:"min"`
	Max         int      `json:"max"`          // that demand can raise it to
	IdleTimeout Duration `json:"idle_timeout"` // after which, unused, it is back at Min
	// Interpreter has each come with the interpreter of the first runtime running.
	Interpreter bool `json:"interpreter,omitempty"`
}

// DefaultPoolIdleTimeout is that of a warm pool which names no timeout.
const DefaultPoolIdleTimeout = 5 * time.Minute

// MaxPool is the most sandboxes that a warm pool may keep.
const MaxPool = 100

// Or completes the pool with its defaults, if it is to keep any.
func (p WarmPool) Or() WarmPool {
	if p == (WarmPool{}) {
		return p
	}
	if p.Max == 0 {
		p.Max = min(max(1, 2*p.Min), MaxPool)
	}
	if p.IdleTimeout == 0 {
		p.IdleTimeout = Duration(DefaultPoolIdleTimeout)
	}
	return p
}

// DefaultSessionLimits returns the limits of a template that names no session limits.
func DefaultSessionLimits() SessionLimits {
	return SessionLimits{
		Timeout:          Duration(DefaultLifetime),
		IdleTimeout:      Duration(DefaultIdleTimeout),
		ExecutionTimeout: Duration(DefaultExecutionTimeout),
		OutputLimit:      DefaultOutputLimit,
	}
}

// DefaultHostPaths returns the paths that a host root file system binds when a template names no
// paths: programs and libraries, without /root, /home and /var.
func DefaultHostPaths() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs"}
}

// OfferedHostPaths returns the host paths that a template may name unless its operator says
// otherwise: [DefaultHostPaths], and the directories where Debian keeps the configuration without
// which some toolchains in /usr do not start.
func OfferedHostPaths() []string {
	paths := append(DefaultHostPaths(), "/etc/maven", "/etc/mono", "/etc/R", "/etc/fonts")
	for _, version := range []string{"11", "17", "21", "25"} {
		paths = append(paths, "/etc/java-"+version+"-openjdk")
	}
	return paths
}

// ETag names the template with all that is shown of it, so also its pool.
func (t Template) ETag() string { return `"` + t.hash()[:32] + `"` }

// Digest names everything that is derived from the template: equal templates have equal digests,
// even if their sources differ.
func (t Template) Digest() string {
	t.WarmPool = WarmPool{} // the size of the pool does not change a sandbox
	return t.hash()
}

func (t Template) hash() string {
	// Maps marshal with sorted keys and every field can be marshalled, so the bytes are canonical
	// and the error is impossible.
	data, err := json.Marshal(t)
	if err != nil {
		panic("yurt: marshalling a template: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// OwnKernel is how a template says that contexts have the kernel of the runtime itself.
const OwnKernel = "yurt"

// Kernel names the interpreter that contexts of a runtime's language have; "" is the runtime's own.
// Where Kernels names no interpreter, a template whose packages of Python name IPython has
// IPython's shell.
func (t Template) Kernel(runtime string) string {
	const python, ipython = "python", "ipython"
	switch chosen := t.Kernels[runtime]; {
	case chosen == OwnKernel:
		return ""
	case chosen == "" && runtime == python && slices.ContainsFunc(t.Dependencies[runtime], func(d string) bool { return packageName(d) == ipython }):
		return ipython
	default:
		return chosen
	}
}

// packageName is the name in a requirement of Python, in lower case: of "IPython[test] >= 8" it is "ipython".
func packageName(requirement string) string {
	name := strings.TrimSpace(requirement)
	if end := strings.IndexAny(name, " [<>=!~;@("); end >= 0 {
		name = name[:end]
	}
	return strings.ToLower(name)
}
