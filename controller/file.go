package controller

import (
	"context"
	"io"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/reach"
)

// Files reaches the files of sessions.
type Files struct {
	store contract.SessionStore
	reach *reach.Reach
}

// WriteFile replaces the file at name, a path below the workspace, with content,
// which is read to its end and not held in memory, or adds to it. More than
// [yurt.MaxFileBytes] is a [yurt.CodeFileTooLarge] error and leaves the old file.
func (f *Files) WriteFile(ctx context.Context, sessionID, name string, content io.Reader, options yurt.WriteOptions) (_ yurt.FileInfo, err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	at, err := f.useFile(ctx, sessionID, name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	if err := f.noteFiles(ctx, at.session); err != nil {
		return yurt.FileInfo{}, err
	}
	return at.node.WriteFile(ctx, at.session.SandboxID, at.path, &cappedReader{from: content, left: yurt.MaxFileBytes}, options)
}

// ReadFile opens a span of the file at name. The caller closes it.
func (f *Files) ReadFile(ctx context.Context, sessionID, name string, span yurt.Span) (_ io.ReadCloser, _ yurt.FileInfo, err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	at, err := f.useFile(ctx, sessionID, name)
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	return at.node.ReadFile(ctx, at.session.SandboxID, at.path, span)
}

// StatFile describes the entry at name, the workspace itself included, and follows no link.
func (f *Files) StatFile(ctx context.Context, sessionID, name string) (_ yurt.FileInfo, err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	at, err := f.useDir(ctx, sessionID, "path", name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	return at.node.StatFile(ctx, at.session.SandboxID, at.path)
}

// ListFiles lists a part of the entries below the directory at name.
func (f *Files) ListFiles(ctx context.Context, sessionID, name string, options yurt.ListOptions) (_ yurt.FileList, err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	if err := options.Validate(); err != nil {
		return yurt.FileList{}, err
	}
	at, err := f.useDir(ctx, sessionID, "list", name)
	if err != nil {
		return yurt.FileList{}, err
	}
	return at.node.ListFiles(ctx, at.session.SandboxID, at.path, options)
}

// MakeDir makes the directory at name and those above it. One that is there is no
// error.
func (f *Files) MakeDir(ctx context.Context, sessionID, name string, mode yurt.FileMode) (_ yurt.FileInfo, err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	at, err := f.useFile(ctx, sessionID, name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	if err := f.noteFiles(ctx, at.session); err != nil {
		return yurt.FileInfo{}, err
	}
	return at.node.MakeDir(ctx, at.session.SandboxID, at.path, mode)
}

// MoveFile moves the entry at name to the other path. It replaces a file only where replace says so, and a directory never.
func (f *Files) MoveFile(ctx context.Context, sessionID, name, to string, replace bool) (_ yurt.FileInfo, err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	cleanTo, err := yurt.CleanWorkspacePath("to", to)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	at, err := f.useFile(ctx, sessionID, name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	return at.node.MoveFile(ctx, at.session.SandboxID, at.path, cleanTo, replace)
}

// ChmodFile sets the permission bits of the entry at name.
func (f *Files) ChmodFile(ctx context.Context, sessionID, name string, mode yurt.FileMode) (_ yurt.FileInfo, err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	at, err := f.useFile(ctx, sessionID, name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	return at.node.ChmodFile(ctx, at.session.SandboxID, at.path, mode)
}

// RemoveFile removes the entry at name. A directory must be empty unless all says that its content goes too.
func (f *Files) RemoveFile(ctx context.Context, sessionID, name string, all bool) (err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	at, err := f.useFile(ctx, sessionID, name)
	if err != nil {
		return err
	}
	return at.node.RemoveFile(ctx, at.session.SandboxID, at.path, all)
}

// PackFiles writes the content of the directory at name to a tar archive. Without such a directory it writes no byte.
func (f *Files) PackFiles(ctx context.Context, sessionID, name string, to io.Writer) (err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	at, err := f.useDir(ctx, sessionID, "path", name)
	if err != nil {
		return err
	}
	return at.node.PackFiles(ctx, at.session.SandboxID, at.path, to)
}

// UnpackFiles reads a tar archive into the directory at name, which it makes. Files from before an error stay.
func (f *Files) UnpackFiles(ctx context.Context, sessionID, name string, archive io.Reader) (_ yurt.Unpacked, err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	at, err := f.useDir(ctx, sessionID, "path", name)
	if err != nil {
		return yurt.Unpacked{}, err
	}
	if err := f.noteFiles(ctx, at.session); err != nil {
		return yurt.Unpacked{}, err
	}
	return at.node.UnpackFiles(ctx, at.session.SandboxID, at.path, archive)
}

// WatchFiles calls ready once it watches, and then each with every change in the directory at name, and below it if deep. It
// ends when ctx is done, when the directory or the session's sandbox is gone, which is no error, or when each returns an error.
func (f *Files) WatchFiles(ctx context.Context, sessionID, name string, deep bool, ready func(), each func(yurt.FileEvent) error) (err error) {
	defer f.reach.SayEnded(ctx, sessionID, &err)
	at, err := f.useDir(ctx, sessionID, "path", name)
	if err != nil {
		return err
	}
	return at.node.WatchFiles(ctx, at.session.SandboxID, at.path, deep, ready, each)
}

// place is where a path of a session is.
type place struct {
	node    contract.Node
	session yurt.Session
	path    string // clean, below the workspace
}

// noteFiles has a session be known to have files before it gets them: an ephemeral one is not
// started elsewhere without.
func (f *Files) noteFiles(ctx context.Context, session yurt.Session) error {
	if session.Mode != yurt.ModeEphemeral || session.HasFiles {
		return nil
	}
	_, err := f.store.ChangeSession(ctx, session.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		s.HasFiles = true
		return nil, s.HasSandbox()
	})
	return err
}

// useFile finds a path below the workspace of a session, which is not idle by that.
func (f *Files) useFile(ctx context.Context, sessionID, name string) (place, error) {
	clean, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return place{}, err
	}
	session, node, err := f.reach.Use(ctx, sessionID)
	return place{node: node, session: session, path: clean}, err
}

// useDir is useFile where the workspace itself will do, which "" means too.
func (f *Files) useDir(ctx context.Context, sessionID, field, name string) (place, error) {
	if name == "" {
		name = "."
	}
	clean, err := yurt.CleanWorkspaceDir(field, name)
	if err != nil {
		return place{}, err
	}
	session, node, err := f.reach.Use(ctx, sessionID)
	return place{node: node, session: session, path: clean}, err
}

// cappedReader fails once more than it allows was read.
type cappedReader struct {
	from io.Reader
	left int64
}

func (r *cappedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p[:min(int64(len(p)), r.left+1)])
	if r.left -= int64(n); r.left < 0 {
		return 0, yurt.FieldErrorf(yurt.CodeFileTooLarge, "path", "the file is larger than the %s that are allowed", yurt.Size(yurt.MaxFileBytes))
	}
	return n, err
}
