package access

import (
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
)

// Scope is one thing that a key lets its caller do. The set is closed.
type Scope string

// The scopes. Their strings are part of the API and never change.
const (
	SessionsRead    Scope = "sessions:read"    // look at sessions, executions, logs and usage
	SessionsWrite   Scope = "sessions:write"   // make, pause, resume and end sessions
	SessionsExecute Scope = "sessions:execute" // run code, and talk to its processes
	Files           Scope = "files"            // read and write files of sessions
	Templates       Scope = "templates"        // make and delete templates
	Pools           Scope = "pools"            // look at warm pools and size them
	Nodes           Scope = "nodes"            // look at machines and metrics, and drain machines
	Admin           Scope = "admin"            // all of these, keys and the audit log
)

// Scopes returns every scope.
func Scopes() []Scope {
	return []Scope{SessionsRead, SessionsWrite, SessionsExecute, Files, Templates, Pools, Nodes, Admin}
}

// CheckScopes refuses a list of scopes that is empty, or that names one that does not exist.
func CheckScopes(field string, scopes []Scope) error {
	if len(scopes) == 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "the list is empty; give one or more of %s", Names(Scopes()))
	}
	for _, scope := range scopes {
		if !slices.Contains(Scopes(), scope) {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "there is no scope %.40q; give one or more of %s", scope, Names(Scopes()))
		}
	}
	return nil
}

// Names lists scopes, separated by commas, as errors and help texts name them.
func Names(scopes []Scope) string {
	list := make([]string, len(scopes))
	for i, scope := range scopes {
		list[i] = string(scope)
	}
	return strings.Join(list, ", ")
}
