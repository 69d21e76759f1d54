package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/yurtrun/yurt"
)

// file is the file to which entries are added, one JSON object a line. A program that rotates logs may rename it: the next batch
// makes a new one.
type file struct {
	path string
	out  *os.File
}

func openFile(path string) (*file, error) {
	f := &file{path: path}
	if err := f.open(); err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--audit-log", "opening the file: %w; give a path in a directory that the server may write to", err)
	}
	return f, nil
}

func (f *file) open() (err error) {
	f.out, err = os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return err
}

// add adds all entries or none: when it fails, it cuts the file back, so that the next try adds no entry twice.
func (f *file) add(entries []Entry) (added int, err error) {
	if err := f.follow(); err != nil {
		return 0, fmt.Errorf("opening the file of the audit log: %w", err)
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for _, entry := range entries {
		if err := encoder.Encode(entry); err != nil {
			return 0, fmt.Errorf("encoding an entry of the audit log: %w", err)
		}
	}
	before, err := f.out.Stat()
	if err != nil {
		return 0, fmt.Errorf("looking at the file of the audit log: %w", err)
	}
	if _, err := f.out.Write(lines.Bytes()); err != nil {
		// A part of the batch would be there twice after the next try.
		return 0, errors.Join(fmt.Errorf("writing the file of the audit log: %w", err), undo(f.out, before))
	}
	return len(entries), nil
}

// undo cuts a regular file back to its former size.
func undo(out *os.File, before os.FileInfo) error {
	if !before.Mode().IsRegular() {
		return nil
	}
	return out.Truncate(before.Size())
}

// follow opens the file anew when its name leads elsewhere.
func (f *file) follow() error {
	if f.out != nil {
		named, err := os.Stat(f.path)
		opened, statErr := f.out.Stat()
		if err == nil && statErr == nil && os.SameFile(named, opened) {
			return nil
		}
		f.close()
	}
	return f.open()
}

func (f *file) close() {
	if f.out != nil {
		_ = f.out.Close() // each batch was written by a call of its own
		f.out = nil
	}
}
