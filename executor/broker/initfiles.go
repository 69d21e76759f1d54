package broker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/initd"
)

// Files of a sandbox's init, in the directory of the sandbox's record.
const (
	InitSocket = "init.sock" // at which it listens
	InitLog    = "init.log"  // its standard error
)

// initFiles makes the listening socket of a sandbox's init, and the file for its standard error. The caller closes both.
func (l *Local) initFiles(sandboxID string) (listener, words *os.File, err error) {
	dir := l.Dirs.RecordDir(sandboxID)
	if listener, err = initd.Listen(filepath.Join(dir, InitSocket)); err != nil {
		return nil, nil, err
	}
	words, err = os.OpenFile(filepath.Join(dir, InitLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("making init's log: %w", err), listener.Close())
	}
	return listener, words, nil
}
