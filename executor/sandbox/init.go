package sandbox

import (
	"fmt"
	"os"

	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// InitFiles opens the files that the launcher hands to init, in the order of [launch.CreateRequest].
// filter is the compiled seccomp filter, which stays the caller's.
func (s *Sandbox) InitFiles(filter *os.File) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			descriptor.CloseAll(files)
		}
	}()
	listener, err := initd.Listen(s.Path(socketFile))
	if err != nil {
		return files, err
	}
	files = append(files, listener)
	own, err := descriptor.Duplicate(filter)
	if err != nil {
		return files, err
	}
	files = append(files, own)
	words, err := os.OpenFile(s.Path(initLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return files, fmt.Errorf("making init's log: %w", err)
	}
	return append(files, words), nil
}
