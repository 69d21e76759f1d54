package plugins

import (
	"path"
	"strings"
)

// Source returns where the code to run is inside the sandbox: the entry of a project,
// or else the snippet under the given name, for which it returns the file of the plan.
func (req PlanRequest) Source(name string) (at string, files []File) {
	if req.Entry != "" {
		return path.Join(req.Root, req.Entry), nil
	}
	return path.Join(req.Dir, name), []File{{Path: name, Data: []byte(req.Code), Mode: 0o644}}
}

// UserPath returns the name that the user knows a file by: relative to the project, or
// the name of the snippet. ok is false for files that are not the user's.
func (f Failure) UserPath(at string) (name string, ok bool) {
	for _, dir := range []string{f.Dir, f.OutDir, f.Root} {
		if name, ok := strings.CutPrefix(at, dir+"/"); ok && dir != "" {
			return name, true
		}
	}
	return at, at != "" && !path.IsAbs(at)
}
