package yurtclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

// CodeNotText says that a file whose text was asked for is not UTF-8.
const CodeNotText yurt.Code = "not_text"

// Workspace is the files of a sandbox, by path, relative to /workspace.
type Workspace struct {
	client  *Client
	session string
}

// Progress is told the bytes of a transfer so far and in all, -1 where that is not known.
type Progress func(done, total int64)

// Read returns the contents of a file.
func (f Workspace) Read(ctx context.Context, path string) ([]byte, error) {
	return f.ReadPart(ctx, path, yurt.Span{})
}

// ReadPart returns a part of a file.
func (f Workspace) ReadPart(ctx context.Context, path string, span yurt.Span) ([]byte, error) {
	content, _, err := f.client.GetFileSpan(ctx, f.session, path, span)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	data, err := io.ReadAll(content)
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeUnavailable, "the file broke off after %d bytes (%w); try again", len(data), err)
	}
	return data, nil
}

// ReadText returns a file of text. One that is not UTF-8 is a [CodeNotText] error; Read reads it.
func (f Workspace) ReadText(ctx context.Context, path string) (string, error) {
	data, err := f.Read(ctx, path)
	if err == nil && !utf8.Valid(data) {
		return "", yurt.FieldErrorf(CodeNotText, "path", "%q is not text in UTF-8; use Read", path)
	}
	return string(data), err
}

// Write writes a file, and makes the directories above it as needed.
func (f Workspace) Write(ctx context.Context, path string, data []byte) (yurt.FileInfo, error) {
	return f.client.PutFile(ctx, f.session, path, bytes.NewReader(data))
}

// WriteIf is Write under a condition: with Match the [yurt.FileInfo.ETag] of the file that was read, no change of another client is lost.
// A condition that does not hold is a [yurt.CodePreconditionFailed] error, which has the present ETag.
func (f Workspace) WriteIf(ctx context.Context, path string, data []byte, condition yurt.Condition) (yurt.FileInfo, error) {
	return f.client.WriteFile(ctx, f.session, path, bytes.NewReader(data), yurt.WriteOptions{If: condition})
}

// Append adds to the end of a file, and makes it as needed.
func (f Workspace) Append(ctx context.Context, path string, data []byte) (yurt.FileInfo, error) {
	return f.client.WriteFile(ctx, f.session, path, bytes.NewReader(data), yurt.WriteOptions{Append: true})
}

// Upload sends a file of any size from a reader. progress may be nil.
func (f Workspace) Upload(ctx context.Context, source io.Reader, path string, progress Progress) (yurt.FileInfo, error) {
	return f.client.PutFile(ctx, f.session, path, &counter{from: source, total: sizeOf(source), tell: progress})
}

// sizeOf returns the number of bytes of a reader, or -1 if that is not known.
func sizeOf(source io.Reader) int64 {
	switch source := source.(type) {
	case interface{ Len() int }: // a reader of bytes or of a string
		return int64(source.Len())
	case *os.File:
		if info, err := source.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size()
		}
	}
	return -1
}

// Download writes a file of any size to a local one and returns its size. A download that fails leaves no file
// behind.
func (f Workspace) Download(ctx context.Context, path, target string, progress Progress) (int64, error) {
	content, info, err := f.client.GetFile(ctx, f.session, path)
	if err != nil {
		return 0, err
	}
	defer content.Close()
	partial := target + ".part"
	file, err := os.Create(partial)
	if err != nil {
		return 0, fmt.Errorf("making the file: %w", err)
	}
	size, err := io.Copy(file, &counter{from: content, total: info.Size, tell: progress})
	if err != nil {
		err = yurt.Errorf(yurt.CodeUnavailable, "the download of %q broke off after %d bytes (%w); try again", path, size, err)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(partial, target)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(partial))
	}
	return size, nil
}

// counter is a reader that tells how far it is.
type counter struct {
	from        io.Reader
	done, total int64
	tell        Progress
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if c.done += int64(n); n > 0 && c.tell != nil {
		c.tell(c.done, c.total)
	}
	return n, err
}

// List yields the contents of a directory, so many levels deep, over all pages. Path "" is the workspace.
func (f Workspace) List(ctx context.Context, path string, depth int) iter.Seq2[yurt.FileInfo, error] {
	return func(yield func(yurt.FileInfo, error) bool) {
		options := ListFilesOptions{Depth: depth}
		for {
			page, err := f.client.ListFiles(ctx, f.session, path, options)
			if err != nil {
				yield(yurt.FileInfo{}, err)
				return
			}
			for _, info := range page.Files {
				if !yield(info, nil) {
					return
				}
			}
			if options.Cursor = page.NextCursor; options.Cursor == "" {
				return
			}
		}
	}
}

// Stat describes a file, not following a link.
func (f Workspace) Stat(ctx context.Context, path string) (yurt.FileInfo, error) {
	return f.client.StatFile(ctx, f.session, path)
}

// MakeDir makes a directory and those above it.
func (f Workspace) MakeDir(ctx context.Context, path string) (yurt.FileInfo, error) {
	return f.client.MakeDir(ctx, f.session, path, 0)
}

// Move gives a file another path. It replaces a file there only where overwrite says so.
func (f Workspace) Move(ctx context.Context, path, to string, overwrite bool) (yurt.FileInfo, error) {
	return f.client.MoveFile(ctx, f.session, path, to, overwrite)
}

// Chmod gives a file other permission bits.
func (f Workspace) Chmod(ctx context.Context, path string, mode yurt.FileMode) (yurt.FileInfo, error) {
	return f.client.ChmodFile(ctx, f.session, path, mode)
}

// Pack returns a directory and all below it as a tar archive, see [Client.PackFiles]. The caller closes it.
func (f Workspace) Pack(ctx context.Context, path string) (io.ReadCloser, error) {
	return f.client.PackFiles(ctx, f.session, path)
}

// Unpack unpacks a tar archive in a directory, which is made. Files that were unpacked before an error stay.
func (f Workspace) Unpack(ctx context.Context, archive io.Reader, path string) (yurt.Unpacked, error) {
	return f.client.UnpackFiles(ctx, f.session, path, archive)
}

// Remove removes a file, or a directory, with all in it where all says so.
func (f Workspace) Remove(ctx context.Context, path string, all bool) error {
	return f.client.RemoveFile(ctx, f.session, path, all)
}

// Watch yields the changes in a directory, and below it if deep, until the directory or the sandbox is gone.
func (f Workspace) Watch(ctx context.Context, path string, deep bool) iter.Seq2[yurt.FileEvent, error] {
	return pushed(func(each func(yurt.FileEvent) error) error {
		return f.client.WatchFiles(ctx, f.session, path, deep, nil, each)
	})
}
