package hcl

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

// reservedPath is a part of the host that no template can bind, nor anything below
// it, nor any directory that holds it.
type reservedPath struct {
	path, reason string
}

func reservedPaths() []reservedPath {
	return []reservedPath{
		{"/root", "is the home of the host's administrator"},
		{"/home", "holds the homes of the host's users"},
		{"/var", "holds the host's own state, logs and secrets"},
		{"/run", "holds the sockets of the host's services"},
		{"/proc", "is every sandbox's own, and the host's shows its processes"},
		{"/sys", "is every sandbox's own, and the host's controls its kernel"},
		{"/dev", "is every sandbox's own, and the host's are its devices"},
		{"/tmp", "is every sandbox's own, and the host's is shared by its users"},
		{yurt.WorkspaceDir, "is where the sandbox's own files are"},
		{"/etc/shadow", "holds the host's password hashes"},
		{"/etc/gshadow", "holds the host's password hashes"},
		{"/etc/ssh", "holds the host's keys"},
		{"/etc/ssl/private", "holds the host's keys"},
	}
}

// hostPaths checks the paths as text; the node resolves links and has the last word.
func (f *faultList) hostPaths(paths []string) {
	const field = "rootfs.host_paths"
	if len(paths) > MaxHostPaths {
		f.add(yurt.CodeLimitOutOfRange, field, "%d paths are too many; at most %d are allowed", len(paths), MaxHostPaths)
		return
	}
	seen := map[string]bool{}
	for i, p := range paths {
		at := field + index(i)
		if message := hostPathFault(p); message != "" {
			f.add(yurt.CodeInvalidPath, at, "%s", message)
		} else if seen[p] {
			f.add(yurt.CodeInvalidPath, at, "%q is in the list twice; keep one", p)
		}
		seen[p] = true
	}
}

// hostPathFault returns the reason why p cannot be bound, or "".
func hostPathFault(p string) string {
	switch {
	case p == "":
		return "the path is empty; give an absolute path such as \"/usr\""
	case len(p) > yurt.MaxPathBytes:
		return "the path is too long"
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return "the path holds control characters, or is not valid UTF-8"
	case !path.IsAbs(p):
		return quoted(p) + " is not absolute; begin with \"/\""
	case path.Clean(p) != p:
		return quoted(p) + " is not clean; write " + quoted(path.Clean(p))
	case p == "/":
		return "the whole host cannot be bound; name the directories that programs need, such as \"/usr\""
	}
	for _, reserved := range reservedPaths() {
		if reason := reserved.reasonAgainst(p); reason != "" {
			return quoted(p) + " cannot be bound into a sandbox: " + reason
		}
	}
	return ""
}

// reasonAgainst returns the reason why p cannot be bound because of r, or "".
func (r reservedPath) reasonAgainst(p string) string {
	switch {
	case p == r.path:
		return "it " + r.reason
	case isBelow(p, r.path):
		return "nothing below " + r.path + " can, as it " + r.reason
	case isBelow(r.path, p):
		return r.path + " in it " + r.reason + "; name what is needed of " + p
	default:
		return ""
	}
}

func isBelow(p, dir string) bool { return strings.HasPrefix(p, dir+"/") }

func quoted(text string) string { return "\"" + text + "\"" }
