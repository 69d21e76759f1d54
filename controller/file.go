package controller

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/yurtrun/yurt"
)

// touchShare of a session's idle timeout may pass before another use is recorded,
// so that many small uses do not each write to the store.
const touchShare = 20

// WriteFile replaces the file at name, a path below the workspace, with content,
// which is read to its end and not held in memory. More than [yurt.MaxFileBytes]
// is a [yurt.CodeFileTooLarge] error and leaves the old file.
func (c *Controller) WriteFile(ctx context.Context, sessionID, name string, content io.Reader) (yurt.FileInfo, error) {
	clean, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	session, node, err := c.useSandbox(ctx, sessionID)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	return node.WriteFile(ctx, session.SandboxID, clean, &cappedReader{from: content, left: yurt.MaxFileBytes})
}

// ReadFile opens the file at name, a path below the workspace. The caller closes it.
func (c *Controller) ReadFile(ctx context.Context, sessionID, name string) (io.ReadCloser, yurt.FileInfo, error) {
	clean, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	session, node, err := c.useSandbox(ctx, sessionID)
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	return node.ReadFile(ctx, session.SandboxID, clean)
}

// useSandbox returns the session, whose sandbox must be there, and its node, and
// notes that the session is not idle.
func (c *Controller) useSandbox(ctx context.Context, sessionID string) (yurt.Session, Node, error) {
	session, err := c.Session(ctx, sessionID)
	if err != nil {
		return yurt.Session{}, nil, err
	}
	if err := hasSandbox(&session); err != nil {
		return yurt.Session{}, nil, err
	}
	now := c.now()
	if now.Sub(session.ActiveAt) > session.IdleTimeout.Std()/touchShare {
		if session, err = c.touch(ctx, sessionID, now); err != nil {
			return yurt.Session{}, nil, err
		}
	}
	node, err := c.placer.Node(ctx, session.Placement.Node)
	if err != nil {
		return yurt.Session{}, nil, fmt.Errorf("reaching the session's node: %w", err)
	}
	return session, node, nil
}

func (c *Controller) touch(ctx context.Context, sessionID string, now time.Time) (yurt.Session, error) {
	return c.store.ChangeSession(ctx, sessionID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if err := hasSandbox(s); err != nil {
			return nil, err
		}
		s.ActiveAt = now
		return nil, nil
	})
}

func hasSandbox(s *yurt.Session) error {
	switch {
	case s.State.Ended():
		return yurt.Errorf(yurt.CodeSessionEnded, "session %s has ended (%s: %s) and its files are gone; create a new one", s.ID, s.State, s.Reason)
	case s.State == yurt.SessionCreating:
		return yurt.Errorf(yurt.CodeIllegalTransition, "session %s is %s and has no files yet; wait until it is %s", s.ID, s.State, yurt.SessionReady)
	}
	return nil
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
