package controller

import (
	"context"

	"github.com/yurtrun/yurt"
)

// validateFiles checks the files that a session is to begin with.
func validateFiles(req CreateSessionRequest) error {
	if req.Reuse && len(req.Files) > 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "files", "a session that is reused has files of its own, which these might replace; leave out files and upload them once it is there, or leave out reuse")
	}
	return yurt.ValidateFiles("files", req.Files)
}

// fitFiles refuses files that are larger than the whole workspace.
func fitFiles(files []yurt.SourceFile, disk yurt.Size) error {
	if size := yurt.FilesSize(files); size > disk {
		return yurt.FieldErrorf(yurt.CodeWorkspaceFull, "files", "they have %s, and the workspace %s; give less, or ask for more resources.disk", size, disk)
	}
	return nil
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
