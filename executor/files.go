package executor

import (
	"context"
	"io"

	"github.com/yurtrun/yurt"
)

// WriteFile replaces the file at path in the sandbox's workspace with the content,
// atomically, making parent directories. It reads at most [yurt.MaxFileBytes].
func (e *Executor) WriteFile(_ context.Context, sandboxID, path string, content io.Reader) (yurt.FileInfo, error) {
	s, err := e.find(sandboxID)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	if err := s.usable(); err != nil {
		return yurt.FileInfo{}, err
	}
	return s.files.Write(path, content, yurt.MaxFileBytes, 0o644)
}

// ReadFile opens the regular file at path in the sandbox's workspace. The caller
// closes it.
func (e *Executor) ReadFile(_ context.Context, sandboxID, path string) (io.ReadCloser, yurt.FileInfo, error) {
	s, err := e.find(sandboxID)
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	if err := s.usable(); err != nil {
		return nil, yurt.FileInfo{}, err
	}
	return s.files.Read(path)
}
