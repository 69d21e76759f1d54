package sandbox

import (
	"bytes"
	"fmt"
	"path"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Places in a sandbox.
const (
	tempDir = "/tmp"
	// OutPrefix begins the name, in /tmp, of the directory of an execution's compiled files.
	OutPrefix = ".yurt-out-"
)

// OutDir is the directory of an execution's compiled files.
func OutDir(id string) string { return path.Join(tempDir, OutPrefix+id) }

// CacheDir is the directory of files that executions of a runtime keep for later ones.
func CacheDir(runtime string) string { return path.Join(tempDir, ".yurt-cache", runtime) }

// RunFileLimit bounds one file of a plan, in bytes.
const RunFileLimit = 32 << 20

// CheckEntry refuses an entry that neither came with the execution nor is in the sandbox.
func (s *Sandbox) CheckEntry(dir string, spec yurt.ExecutionSpec) error {
	if spec.Entry == "" || slices.ContainsFunc(spec.Files, func(f yurt.SourceFile) bool { return f.Path == spec.Entry }) {
		return nil
	}
	_, err := s.Files.Stat(path.Join(dir, spec.Entry))
	if yurt.CodeOf(err) == yurt.CodeFileNotFound {
		return yurt.FieldErrorf(yurt.CodeFileNotFound, "entry", "there is no file %s in %s; give it in files, or upload it before", spec.Entry, dir)
	}
	return err
}

// WorkDir is where the execution starts: the image's working directory for a command that
// names no other and brings no files, since the image cannot be written to.
func (s *Sandbox) WorkDir(spec yurt.ExecutionSpec) string {
	if spec.Kind == yurt.KindCommand && spec.Cwd == "" && len(spec.Files) == 0 && s.Image != nil && s.Image.WorkingDir != "" {
		return path.Join("/", s.Image.WorkingDir)
	}
	return WorkDirOf(spec.Cwd)
}

// WorkDirOf returns the working directory of code, by the directory that its request names.
func WorkDirOf(cwd string) string {
	switch {
	case cwd == "":
		return yurt.WorkspaceDir
	case path.IsAbs(cwd):
		return path.Clean(cwd)
	default:
		return path.Join(yurt.WorkspaceDir, cwd)
	}
}

// WriteSources puts the files that came with an execution into its working directory.
func (s *Sandbox) WriteSources(dir string, files []yurt.SourceFile) error {
	for _, f := range files {
		if _, err := s.Files.Write(path.Join(dir, f.Path), bytes.NewReader(f.Data), yurt.MaxFilesBytes, fileMode); err != nil {
			return err
		}
	}
	return nil
}

// WriteFiles puts the plan's files where the run finds them and cannot change them.
func (s *Sandbox) WriteFiles(id string, files []plugins.File) error {
	for _, f := range files {
		name := path.Join(id, f.Path)
		if _, err := s.Plans.Write(name, bytes.NewReader(f.Data), RunFileLimit, f.Mode|0o444); err != nil {
			return fmt.Errorf("preparing execution %s: %w", id, err)
		}
	}
	return nil
}
