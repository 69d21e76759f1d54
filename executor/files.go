package executor

import (
	"context"
	"io"
	"io/fs"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/files"
	"github.com/yurtrun/yurt/executor/workspace"
)

// filesOf returns the workspace of a sandbox that can be used.
func (e *Executor) filesOf(ctx context.Context, sandboxID string) (*files.Dir, error) {
	s, err := e.FindUsable(ctx, sandboxID)
	if err != nil {
		return nil, err
	}
	return s.Files, nil
}

// WriteFile replaces the file at path in the sandbox's workspace with the content,
// atomically, or adds to it, making parent directories. The condition holds until then. It reads at most
// [yurt.MaxFileBytes].
func (e *Executor) WriteFile(ctx context.Context, sandboxID, path string, content io.Reader, options yurt.WriteOptions) (yurt.FileInfo, error) {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	if options.Append {
		return files.Append(path, content, yurt.MaxFileBytes, fs.FileMode(options.Mode))
	}
	return files.WriteIf(path, content, yurt.MaxFileBytes, fs.FileMode(options.Mode), options.If)
}

// ReadFile opens a span of the regular file at path in the sandbox's workspace. The
// caller closes it.
func (e *Executor) ReadFile(ctx context.Context, sandboxID, path string, span yurt.Span) (io.ReadCloser, yurt.FileInfo, error) {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	return files.Read(path, span)
}

// StatFile describes the file, directory or link at path.
func (e *Executor) StatFile(ctx context.Context, sandboxID, path string) (yurt.FileInfo, error) {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	return files.Stat(path)
}

// ListFiles lists a part of the tree below the directory at path.
func (e *Executor) ListFiles(ctx context.Context, sandboxID, path string, options yurt.ListOptions) (yurt.FileList, error) {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return yurt.FileList{}, err
	}
	return files.List(ctx, path, options)
}

// MakeDir makes the directory at path and those above it. Mode 0 is 0755. One that is
// there is no error.
func (e *Executor) MakeDir(ctx context.Context, sandboxID, path string, mode yurt.FileMode) (yurt.FileInfo, error) {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	info, _, err := files.MakeDir(path, fs.FileMode(mode))
	return info, err
}

// MoveFile moves the file or directory at from to the path to, making parent directories. It replaces
// a file only where replace says so, and a directory never.
func (e *Executor) MoveFile(ctx context.Context, sandboxID, from, to string, replace bool) (yurt.FileInfo, error) {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	return files.Move(from, to, replace)
}

// ChmodFile sets the permission bits of the file or directory at path.
func (e *Executor) ChmodFile(ctx context.Context, sandboxID, path string, mode yurt.FileMode) (yurt.FileInfo, error) {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	return files.Chmod(path, fs.FileMode(mode))
}

// RemoveFile removes the file or directory at path. A directory must be empty unless all of it is
// to go.
func (e *Executor) RemoveFile(ctx context.Context, sandboxID, path string, all bool) error {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return err
	}
	return files.Remove(ctx, path, all)
}

// PackFiles writes the tree below the directory at path to a tar archive. If there is no such directory, it writes no byte.
func (e *Executor) PackFiles(ctx context.Context, sandboxID, path string, to io.Writer) error {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return err
	}
	return files.Pack(ctx, path, to)
}

// UnpackFiles reads a tar archive into the directory at path, which it makes.
func (e *Executor) UnpackFiles(ctx context.Context, sandboxID, path string, archive io.Reader) (yurt.Unpacked, error) {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return yurt.Unpacked{}, err
	}
	return files.Unpack(ctx, path, archive, workspace.Limits{Entries: yurt.MaxArchiveEntries, Bytes: yurt.MaxArchiveBytes})
}

// maxWatches is how many watches there may be at once: each may hold a queue of changes in memory, of 256 KiB at most.
const maxWatches = 256

// WatchFiles calls ready once it watches, and then each with the changes in the
// directory at path, and below it if deep, until ctx is done, the directory or the
// sandbox is gone, which is no error, or each returns one.
func (e *Executor) WatchFiles(ctx context.Context, sandboxID, path string, deep bool, ready func(), each func(yurt.FileEvent) error) error {
	files, err := e.filesOf(ctx, sandboxID)
	if err != nil {
		return err
	}
	defer e.watches.Add(-1)
	if e.watches.Add(1) > maxWatches {
		return yurt.Errorf(yurt.CodeOverloaded, "%d directories are watched already on this node, and no more may be; end another watch", maxWatches)
	}
	return files.Watch(ctx, path, deep, ready, each)
}
