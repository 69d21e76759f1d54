package executor

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/yurtrun/yurt"
)

const (
	filesField = "files" // of what a sandbox is asked for by

	givenMode fs.FileMode = 0o644 // of files that come with a request
)

// receive writes the files that a sandbox is asked for with into its workspace, as its user.
// Nobody has the sandbox yet, but what its template had start in it may have put links there.
func (s *sandbox) receive(files []yurt.SourceFile, phases *phases) error {
	if len(files) == 0 {
		return nil
	}
	for _, f := range files {
		if _, err := s.files.Write(f.Path, bytes.NewReader(f.Data), yurt.MaxFilesBytes, givenMode); err != nil {
			return ofFiles(err)
		}
	}
	phases.mark("files")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Phases = phases.done()
	return nil
}

// ofFiles says of what is wrong with a file which field of the request it is.
func ofFiles(err error) error {
	var coded *yurt.Error
	if errors.As(err, &coded) {
		return yurt.FieldErrorf(coded.Code, filesField, "%s", coded.Message)
	}
	return err
}

// isOfFiles reports whether an error is of the files that were asked for, and no fault of
// the sandbox or the node.
func isOfFiles(err error) bool {
	var coded *yurt.Error
	return errors.As(err, &coded) && coded.Field == filesField
}
