package broker

import "github.com/yurtrun/yurt/internal/linux/procid"

// SetInit says that a sandbox with a cgroup has that process as its init.
func (l *Local) SetInit(sandboxID string, init procid.ID) error {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init = init
	return nil
}
