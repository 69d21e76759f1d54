package sandbox

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/yurtrun/yurt"
)

const (
	// FilesField is the field of a request for a sandbox with the files that it begins with.
	FilesField = "files"

	fileMode fs.FileMode = 0o644 // of files that come with a request
)

// WriteInitialFiles writes the files that a sandbox is asked for with into its workspace, as its user.
// The sandbox has no owner yet, but processes of its template may have put links there.
func (s *Sandbox) WriteInitialFiles(files []yurt.SourceFile, phases *Phases) error {
	if len(files) == 0 {
		return nil
	}
	for _, f := range files {
		if _, err := s.Files.Write(f.Path, bytes.NewReader(f.Data), yurt.MaxFilesBytes, fileMode); err != nil {
			return aboutFiles(err)
		}
	}
	phases.Mark("files")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Record.Phases = phases.Done()
	return nil
}

// aboutFiles names, in an error about a file, the field of the request that has it.
func aboutFiles(err error) error {
	var coded *yurt.Error
	if errors.As(err, &coded) {
		return yurt.FieldErrorf(coded.Code, FilesField, "%s", coded.Message)
	}
	return err
}

// IsAboutFiles reports whether an error is about the files of the request, and no fault of the
// sandbox or the node.
func IsAboutFiles(err error) bool {
	return yurt.IsField(err, FilesField)
}
