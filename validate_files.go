package yurt

import (
	"io/fs"
	"path"
	"strings"
)

func (s *ExecutionSpec) validateFiles() error {
	if len(s.Files) > MaxFiles {
		return FieldErrorf(CodeLimitOutOfRange, "files", "%d files are too many; at most %d are allowed, upload more before", len(s.Files), MaxFiles)
	}
	total := 0
	seen := make(map[string]bool, len(s.Files))
	for _, file := range s.Files {
		if err := validateProjectPath("files", file.Path); err != nil {
			return err
		}
		if seen[file.Path] {
			return FieldErrorf(CodeInvalidArgument, "files", "%s is given twice", file.Path)
		}
		seen[file.Path] = true
		if total += len(file.Data); total > MaxFilesBytes {
			return FieldErrorf(CodeLimitOutOfRange, "files", "they have more than the %s that are allowed together; upload large ones before", Size(MaxFilesBytes))
		}
	}
	for _, file := range s.Files {
		for dir := path.Dir(file.Path); dir != "."; dir = path.Dir(dir) {
			if seen[dir] {
				return FieldErrorf(CodeInvalidArgument, "files", "%s is both a file and a directory", dir)
			}
		}
	}
	if len(s.Files) == 0 && s.Entry == "" {
		return nil
	}
	if s.Cwd != "" && path.Clean(s.Cwd) != WorkspaceDir && !strings.HasPrefix(path.Clean(s.Cwd), WorkspaceDir+"/") {
		return FieldErrorf(CodePathOutsideWorkspace, "cwd", "files are written to the working directory, which must be %s or below it", WorkspaceDir)
	}
	return nil
}

// validateProjectPath allows a clean path that is relative to the working directory
// and stays in it.
func validateProjectPath(field, name string) error {
	if err := validatePathText(field, name); err != nil {
		return err
	}
	switch {
	case path.IsAbs(name) || name == ".." || strings.HasPrefix(path.Clean(name), "../"):
		return FieldErrorf(CodePathOutsideWorkspace, field, "%q leads out of the working directory; give a path relative to it", name)
	case !fs.ValidPath(name) || name == ".":
		return FieldErrorf(CodeInvalidPath, field, "%q is not clean; give a relative path such as \"src/main.py\"", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxFileNameBytes {
			return FieldErrorf(CodeInvalidPath, field, "the path has a name longer than %d bytes", maxFileNameBytes)
		}
	}
	return nil
}

// maxFileNameBytes is Linux's bound of one name in a path.
const maxFileNameBytes = 255
