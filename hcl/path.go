package hcl

import (
	"errors"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt"
)

// Paths name parts of a template's JSON form, such as "resources.memory",
// "runtimes[1]" and "env.PATH".

// index is the path of an element below its list.
func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// member is the path of an entry below its map.
func member(name string) string {
	if plainName(name) {
		return "." + name
	}
	return "[" + strconv.Quote(name) + "]"
}

// plainName reports whether name has only ASCII letters, digits and underscores and
// begins with no digit, so that it needs no quotes anywhere.
func plainName(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// join is the path of the field called name in the object at path.
func join(path, name string) string {
	if path == "" {
		return strings.TrimPrefix(member(name), ".")
	}
	return path + member(name)
}

// parent is the path of the value that path is a part of, or "".
func parent(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }

// below returns err as one about a part of its field.
func below(part string, err error) error {
	fault := asFault(err)
	fault.Field = part + fault.Field
	return fault
}

// asFault returns a copy of the error of the domain that err is.
func asFault(err error) *yurt.Error {
	var fault *yurt.Error
	if !errors.As(err, &fault) {
		fault = yurt.Errorf(yurt.CodeInvalidArgument, "%w", err)
	}
	copied := *fault
	return &copied
}
