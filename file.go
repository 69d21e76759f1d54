package yurt

import (
	"io/fs"
	"slices"
	"strconv"
	"time"
)

// WorkspaceDir is the writable directory inside every sandbox, and the root of the file API.
const WorkspaceDir = "/workspace"

// FileType is the type of a file at a path.
type FileType string

// The types of file.
const (
	FileRegular   FileType = "file"
	FileDirectory FileType = "directory"
	FileLink      FileType = "link"
	FileOther     FileType = "other" // a FIFO, a socket or a device
)

// FileMode is the permission bits of a file, in JSON as octal digits: "0644".
type FileMode uint32

// String returns four octal digits.
func (m FileMode) String() string {
	text := strconv.FormatUint(uint64(m&0o777), 8)
	return "0000"[:4-len(text)] + text
}

// MarshalText implements encoding.TextMarshaler.
func (m FileMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *FileMode) UnmarshalText(text []byte) error {
	mode, err := ParseFileMode("mode", string(text))
	*m = mode
	return err
}

// ParseFileMode reads octal digits, such as 644 or 0755.
func ParseFileMode(field, text string) (FileMode, error) {
	mode, err := strconv.ParseUint(text, 8, 32)
	if err != nil || mode > uint64(fs.ModePerm) {
		return 0, FieldErrorf(CodeInvalidArgument, field, "%q is not a file mode; give three octal digits, such as \"644\"", text)
	}
	return FileMode(mode), nil
}

// FileInfo describes the file at a path in a workspace. Its text is valid UTF-8, even where the
// bytes of the name are not.
type FileInfo struct {
	Path    string    `json:"path"` // relative to the workspace, with slashes
	Type    FileType  `json:"type"`
	Size    int64     `json:"size"`
	Mode    FileMode  `json:"mode"`
	IsDir   bool      `json:"is_dir"`
	ModTime time.Time `json:"mod_time"`
	ETag    string    `json:"etag,omitempty"`   // of a regular file; it changes with the content
	Target  string    `json:"target,omitempty"` // of a link; it may lead anywhere, and Yurt never follows it out of the workspace
}

// Condition says of which file or template a request is, so that the request replaces no other one. The zero value allows each. The texts
// are ETags, or "*" for any.
type Condition struct {
	Match     []string // one of them is the present one's
	NoneMatch []string // the present one has another; "*": there is no such file or template
}

// IsZero reports whether the condition allows each file or template.
func (c Condition) IsZero() bool { return len(c.Match) == 0 && len(c.NoneMatch) == 0 }

// Check returns a [CodePreconditionFailed] error unless the condition allows the present ETag, which is empty where there is no such file
// or template. The name is for the error.
func (c Condition) Check(name, etag string) error {
	has := func(list []string) bool {
		return etag != "" && (slices.Contains(list, "*") || slices.Contains(list, etag))
	}
	refuse := func(field, format string, args ...any) error {
		err := FieldErrorf(CodePreconditionFailed, field, format, args...)
		err.ETag = etag
		return err
	}
	switch {
	case len(c.Match) > 0 && etag == "":
		return refuse("If-Match", "there is no %s; leave If-Match out to make it", name)
	case len(c.Match) > 0 && !has(c.Match):
		return refuse("If-Match", "%s has changed: its ETag is %s; read it, apply the change to that, and send the new ETag", name, etag)
	case has(c.NoneMatch):
		return refuse("If-None-Match", "%s is there, with the ETag %s; choose another name, or replace it with If-Match", name, etag)
	}
	return nil
}

// WriteOptions say how a file is written.
type WriteOptions struct {
	// If is the condition under which a file is replaced. It is not for an append, which loses no content.
	If Condition
	// Append adds to the file. Other writes replace the file, at once and whole.
	Append bool
	// Mode of the file; 0 means that of the file that is there, or 0644.
	Mode FileMode
}

// Span is a part of a file. The zero value is the whole.
type Span struct {
	Offset int64 // from the start; negative: so many bytes before the end
	Length int64 // 0 means to the end
}

// In returns where the span begins in a file of a size and how long it is there, and
// whether there is anything of it. The whole of an empty file is there.
func (s Span) In(size int64) (start, length int64, ok bool) {
	start = s.Offset
	if start < 0 {
		start = max(0, size+start)
	}
	if start >= size {
		return size, 0, s == Span{}
	}
	length = size - start
	if s.Length > 0 {
		length = min(length, s.Length)
	}
	return start, length, true
}

// ListOptions bound a list of files.
type ListOptions struct {
	Depth int    // levels below the directory, 1 to [MaxFileDepth]
	After string // the path, as a list gave it, that the list goes on after; "" begins
	Limit int    // entries, 1 to [MaxListFiles]
}

// Validate checks the bounds.
func (o ListOptions) Validate() error {
	switch {
	case o.Depth < 1 || o.Depth > MaxFileDepth:
		return FieldErrorf(CodeLimitOutOfRange, "depth", "%d levels are out of range; give 1 to %d", o.Depth, MaxFileDepth)
	case o.Limit < 1 || o.Limit > MaxListFiles:
		return FieldErrorf(CodeLimitOutOfRange, "limit", "%d entries are out of range; give 1 to %d", o.Limit, MaxListFiles)
	}
	return nil
}

// FileList is a part of the tree below a directory. A directory comes before its entries; otherwise
// the order is by name.
type FileList struct {
	Files []FileInfo
	More  bool // there are more, after the last of Files
}

// Unpacked counts the entries that an archive held.
type Unpacked struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"` // of the files
}

// FileEventType is the kind of change to a file.
type FileEventType string

// The types of [FileEvent].
const (
	FileCreated   FileEventType = "create" // made, or moved to here
	FileWritten   FileEventType = "write"  // changed, or closed after it was
	FileRemoved   FileEventType = "remove"
	FileRenamed   FileEventType = "rename" // moved from here
	FileChmod     FileEventType = "chmod"
	FileEventLost FileEventType = "lost" // more happened than could be told: look again
)

// FileEvent is something that happened below a watched directory.
type FileEvent struct {
	Type  FileEventType `json:"type"`
	Path  string        `json:"path"` // relative to the workspace
	IsDir bool          `json:"is_dir"`
}
