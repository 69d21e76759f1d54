package nodetest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
)

// file is a file or a directory. There are no links, and directories exist where they
// were made.
type file struct {
	data []byte
	info yurt.FileInfo
}

// inFiles does something with the files of a sandbox, by themselves.
func (n *Node) inFiles(method, sandboxID string, do func(files map[string]*file) error) error {
	if err := n.failure(method); err != nil {
		return err
	}
	s, err := n.find(sandboxID)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return do(s.files)
}

// withFile does something with one file.
func (n *Node) withFile(method, sandboxID, name string, do func(files map[string]*file, f *file) error) (info yurt.FileInfo, err error) {
	err = n.inFiles(method, sandboxID, func(files map[string]*file) error {
		f, ok := files[name]
		if !ok {
			return yurt.FieldErrorf(yurt.CodeFileNotFound, "path", "there is no file %q", name)
		}
		err := do(files, f)
		info = f.info
		return err
	})
	return info, err
}

func newFile(name string, data []byte, mode yurt.FileMode) *file {
	at := time.Now().UTC()
	return &file{data: data, info: yurt.FileInfo{
		Path: name, Type: yurt.FileRegular, Size: int64(len(data)), Mode: mode, ModTime: at, ETag: fmt.Sprintf(`"%x"`, at.UnixNano()),
	}}
}

// receive makes the files of the request for the sandbox.
func (s *sandbox) receive(list []yurt.SourceFile) {
	for _, f := range list {
		s.files[f.Path] = newFile(f.Path, f.Data, 0o644)
	}
}

func newDir(name string, mode yurt.FileMode) *file {
	return &file{info: yurt.FileInfo{Path: name, Type: yurt.FileDirectory, IsDir: true, Mode: mode, ModTime: time.Now().UTC()}}
}

// WriteFile implements contract.Node.
func (n *Node) WriteFile(_ context.Context, sandboxID, name string, content io.Reader, options yurt.WriteOptions) (info yurt.FileInfo, err error) {
	data, err := io.ReadAll(content)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	err = n.inFiles("WriteFile", sandboxID, func(files map[string]*file) error {
		mode, etag := yurt.FileMode(0o644), ""
		if old, ok := files[name]; ok {
			etag = old.info.ETag
			if mode = old.info.Mode; options.Append {
				data = slices.Concat(old.data, data)
			}
		}
		if options.Mode != 0 {
			mode = options.Mode
		}
		if err := options.If.Check(name, etag); err != nil {
			return err
		}
		files[name] = newFile(name, data, mode)
		info = files[name].info
		return nil
	})
	return info, err
}

// ReadFile implements contract.Node.
func (n *Node) ReadFile(_ context.Context, sandboxID, name string, span yurt.Span) (content io.ReadCloser, info yurt.FileInfo, err error) {
	info, err = n.withFile("ReadFile", sandboxID, name, func(_ map[string]*file, f *file) error {
		start, length, ok := span.In(f.info.Size)
		switch {
		case f.info.IsDir:
			return yurt.FieldErrorf(yurt.CodeNotAFile, "path", "%q is not a regular file", name)
		case !ok:
			return yurt.FieldErrorf(yurt.CodeRangeNotSatisfiable, "range", "%q has no byte of the range", name)
		}
		content = io.NopCloser(bytes.NewReader(f.data[start : start+length]))
		return nil
	})
	return content, info, err
}

// StatFile implements contract.Node.
func (n *Node) StatFile(_ context.Context, sandboxID, name string) (yurt.FileInfo, error) {
	return n.withFile("StatFile", sandboxID, name, func(map[string]*file, *file) error { return nil })
}

// ListFiles implements contract.Node.
func (n *Node) ListFiles(_ context.Context, sandboxID, dir string, options yurt.ListOptions) (list yurt.FileList, err error) {
	err = n.inFiles("ListFiles", sandboxID, func(files map[string]*file) error {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			below, ok := name, true
			if dir != "." {
				below, ok = strings.CutPrefix(name, dir+"/")
			}
			if !ok || name <= options.After || strings.Count(below, "/") >= options.Depth {
				continue
			}
			if len(list.Files) == options.Limit {
				list.More = true
				break
			}
			list.Files = append(list.Files, files[name].info)
		}
		return nil
	})
	return list, err
}

// MakeDir implements contract.Node.
func (n *Node) MakeDir(_ context.Context, sandboxID, name string, mode yurt.FileMode) (info yurt.FileInfo, err error) {
	err = n.inFiles("MakeDir", sandboxID, func(files map[string]*file) error {
		if old, ok := files[name]; ok && !old.info.IsDir {
			return yurt.FieldErrorf(yurt.CodeNotAFile, "path", "%q is a file", name)
		}
		files[name] = newDir(name, mode)
		info = files[name].info
		return nil
	})
	return info, err
}

// MoveFile implements contract.Node.
func (n *Node) MoveFile(_ context.Context, sandboxID, from, to string, replace bool) (yurt.FileInfo, error) {
	return n.withFile("MoveFile", sandboxID, from, func(files map[string]*file, f *file) error {
		if _, ok := files[to]; ok && !replace {
			return yurt.FieldErrorf(yurt.CodeFileExists, "to", "there is something at %q", to)
		}
		delete(files, from)
		f.info.Path, files[to] = to, f
		return nil
	})
}

// ChmodFile implements contract.Node.
func (n *Node) ChmodFile(_ context.Context, sandboxID, name string, mode yurt.FileMode) (yurt.FileInfo, error) {
	return n.withFile("ChmodFile", sandboxID, name, func(_ map[string]*file, f *file) error {
		f.info.Mode = mode
		return nil
	})
}

// RemoveFile implements contract.Node.
func (n *Node) RemoveFile(_ context.Context, sandboxID, name string, all bool) error {
	_, err := n.withFile("RemoveFile", sandboxID, name, func(files map[string]*file, _ *file) error {
		for other := range files {
			if !strings.HasPrefix(other, name+"/") {
				continue
			}
			if !all {
				return yurt.FieldErrorf(yurt.CodeFileExists, "path", "%q holds files", name)
			}
			delete(files, other)
		}
		delete(files, name)
		return nil
	})
	return err
}

// PackFiles implements contract.Node. A file called "broken" breaks the archive off.
func (n *Node) PackFiles(_ context.Context, sandboxID, dir string, to io.Writer) error {
	return n.inFiles("PackFiles", sandboxID, func(files map[string]*file) error {
		isBelow := func(name string) bool { return dir == "." || strings.HasPrefix(name, dir+"/") }
		if _, ok := files[dir]; !ok && !slices.ContainsFunc(slices.Collect(maps.Keys(files)), isBelow) && dir != "." {
			return yurt.FieldErrorf(yurt.CodeFileNotFound, "path", "there is no file %q", dir)
		}
		archive := tar.NewWriter(to)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if f := files[name]; !f.info.IsDir && isBelow(name) {
				header := &tar.Header{Name: strings.TrimPrefix(name, dir+"/"), Typeflag: tar.TypeReg, Mode: int64(f.info.Mode), Size: f.info.Size}
				if err := archive.WriteHeader(header); err != nil {
					return err
				}
				if _, err := archive.Write(f.data); err != nil {
					return err
				}
			}
			if path.Base(name) == "broken" {
				return errors.New("it broke off")
			}
		}
		return archive.Close()
	})
}

// UnpackFiles implements contract.Node.
func (n *Node) UnpackFiles(_ context.Context, sandboxID, dir string, from io.Reader) (done yurt.Unpacked, err error) {
	archive := tar.NewReader(from)
	err = n.inFiles("UnpackFiles", sandboxID, func(files map[string]*file) error {
		for {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return yurt.FieldErrorf(yurt.CodeArchiveInvalid, "body", "the archive is broken: %w", err)
			}
			data, err := io.ReadAll(archive)
			if err != nil {
				return fmt.Errorf("reading an entry: %w", err)
			}
			name := path.Join(dir, header.Name)                           //nolint:gosec // a key of a map
			files[name] = newFile(name, data, yurt.FileMode(header.Mode)) //nolint:gosec // permission bits
			done.Entries, done.Bytes = done.Entries+1, done.Bytes+header.Size
		}
	})
	return done, err
}

// WatchFiles implements contract.Node. It tells of the files that are there, and
// then ends with ctx or the sandbox.
func (n *Node) WatchFiles(ctx context.Context, sandboxID, dir string, _ bool, ready func(), each func(yurt.FileEvent) error) error {
	list, err := n.ListFiles(ctx, sandboxID, dir, yurt.ListOptions{Depth: 1, Limit: yurt.MaxListFiles})
	if err != nil {
		return err
	}
	s, err := n.find(sandboxID)
	if err != nil {
		return err
	}
	ready()
	for _, info := range list.Files {
		if err := each(yurt.FileEvent{Type: yurt.FileCreated, Path: info.Path, IsDir: info.IsDir}); err != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.gone:
		return nil
	}
}
