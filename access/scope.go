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
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "a key without a scope opens no door; give one or more of %s", names())
	}
	for _, scope := range scopes {
		if !slices.Contains(Scopes(), scope) {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "there is no such scope; give one or more of %s", names())
		}
	}
	return nil
}

func names() string {
	var list []string
	for _, scope := range Scopes() {
		list = append(list, string(scope))
	}
	return strings.Join(list, ", ")
}
