package yurt

import (
	"io/fs"
	"path"
	"strings"
)

// ValidateFiles checks files that come with a request: their number, their total size, and that
// their paths are clean, stay below the directory that they are written to, and leave room for each
// other.
func ValidateFiles(field string, files []SourceFile) error {
	if len(files) > MaxFiles {
		return FieldErrorf(CodeLimitOutOfRange, field, "%d files are too many; at most %d are allowed, upload the others by themselves", len(files), MaxFiles)
	}
	seen := make(map[string]bool, len(files))
	for _, file := range files {
		if err := validateProjectPath(field, file.Path); err != nil {
			return err
		}
		if seen[file.Path] {
			return FieldErrorf(CodeInvalidArgument, field, "%s is given twice", file.Path)
		}
		seen[file.Path] = true
	}
	if total := FilesSize(files); total > MaxFilesBytes {
		return FieldErrorf(CodeLimitOutOfRange, field, "they have %s, more than the %s that are allowed together; upload large ones by themselves", total, Size(MaxFilesBytes))
	}
	for _, file := range files {
		for dir := path.Dir(file.Path); dir != "."; dir = path.Dir(dir) {
			if seen[dir] {
				return FieldErrorf(CodeInvalidArgument, field, "%s is both a file and a directory", dir)
			}
		}
	}
	return nil
}

// FilesSize is the size of the files together.
func FilesSize(files []SourceFile) (total Size) {
	for _, file := range files {
		total += Size(len(file.Data))
	}
	return total
}

func (s *ExecutionSpec) validateFiles() error {
	if err := ValidateFiles("files", s.Files); err != nil {
		return err
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
	case strings.Count(name, "/") > MaxFileDepth:
		return FieldErrorf(CodeInvalidPath, field, "the path has more than %d directories", MaxFileDepth)
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
