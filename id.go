package yurt

import (
	"crypto/rand"
	"strings"
)

// Prefixes of the identifiers, so that a reader of a log sees the kind of an id.
const (
	SessionIDPrefix   = "ses_"
	ExecutionIDPrefix = "exe_"
	SandboxIDPrefix   = "sbx_"
	KernelIDPrefix    = "krn_"

	ControllerIDPrefix = "ctl_"
)

// NewSessionID returns a fresh session identifier.
func NewSessionID() string { return newID(SessionIDPrefix) }

// NewExecutionID returns a fresh execution identifier.
func NewExecutionID() string { return newID(ExecutionIDPrefix) }

// NewSandboxID returns a fresh sandbox identifier.
func NewSandboxID() string { return newID(SandboxIDPrefix) }

// NewKernelID returns a fresh identifier of a context's interpreter.
func NewKernelID() string { return newID(KernelIDPrefix) }

// NewControllerID returns a fresh identifier of one life of a controller.
func NewControllerID() string { return newID(ControllerIDPrefix) }

// newID appends at least 128 bits of randomness, in lower-case base32 so that an
// id is also a valid file name, cgroup name and host name.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// ValidID reports whether id has the given prefix and is made only of the
// characters that newID produces. Ids come from clients and name directories.
func ValidID(prefix, id string) bool {
	rest, ok := strings.CutPrefix(id, prefix)
	if !ok || rest == "" || len(rest) > 64 {
		return false
	}
	for _, r := range rest {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}
