package sandbox

import (
	"errors"
	"fmt"
	"os"

	"github.com/yurtrun/yurt/executor/initd"
)

// InitFiles opens the listening socket of init, and the file for its standard error.
func (s *Sandbox) InitFiles() (listener, words *os.File, err error) {
	if listener, err = initd.Listen(s.Path(socketFile)); err != nil {
		return nil, nil, err
	}
	words, err = os.OpenFile(s.Path(initLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("making init's log: %w", err), listener.Close())
	}
	return listener, words, nil
}
