package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/yurtrun/yurt"
)

// explain translates an error of the file system for the caller that gave the name.
func explain(name string, err error) error {
	var coded *yurt.Error
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, fs.ErrClosed):
		return yurt.Errorf(yurt.CodeSandboxNotFound, "the sandbox ended while %s was used", name)
	case errors.Is(err, fs.ErrNotExist):
		return yurt.FieldErrorf(yurt.CodeFileNotFound, "path", "there is no file %s", name)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return yurt.FieldErrorf(yurt.CodeWorkspaceFull, "path", "no space is left in the workspace for %s; delete files, or ask for more resources.disk", name)
	case errors.Is(err, syscall.ENOTEMPTY):
		return yurt.FieldErrorf(yurt.CodeFileExists, "path", "%s is a directory that holds files; take another name, or ask for all of it to be removed", name)
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENXIO), errors.Is(err, fs.ErrExist):
		return yurt.FieldErrorf(yurt.CodeNotAFile, "path", "%s, or a directory it is in, is not what the path needs it to be: %w", name, err)
	case errors.Is(err, syscall.EAGAIN):
		return yurt.FieldErrorf(yurt.CodeNotAFile, "path", "a program in the sandbox holds a lease on %s; end it, or take another file", name)
	case errors.Is(err, fs.ErrPermission):
		return yurt.FieldErrorf(yurt.CodeInvalidPath, "path", "the sandbox's user may not use %s; change its mode", name)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EXDEV):
		return yurt.FieldErrorf(yurt.CodeInvalidPath, "path", "%s cannot be resolved: %w", name, err)
	case strings.Contains(err.Error(), "path escapes from parent"): // the standard library has no name for it
		return yurt.FieldErrorf(yurt.CodePathOutsideWorkspace, "path", "%q leads out of %s; give a path inside it", name, yurt.WorkspaceDir)
	default:
		return fmt.Errorf("using %s: %w", name, err)
	}
}

// explainUnless is explain where there may be no error, or that of a caller that left.
func explainUnless(name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return explain(valid(name), err)
}
