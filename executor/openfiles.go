package executor

import (
	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/openfiles"
)

// boundSandboxes refuses a bound of sandboxes for which the node's process may not open enough files,
// and lowers one that is only the default. Without that the node would accept sandboxes and then
// fail in the middle of making them.
func (c *Config) boundSandboxes(given bool) error {
	limit, err := openfiles.Limit()
	if err != nil {
		return err
	}
	return c.boundSandboxesBy(limit, given)
}

func (c *Config) boundSandboxesBy(limit int, given bool) error {
	room := openfiles.Room(limit)
	switch {
	case c.MaxSandboxes <= room:
		return nil
	case room == 0:
		return yurt.Errorf(yurt.CodeSandboxFailed, "this process may have %d files open, and one sandbox takes up to %d; raise the hard limit (ulimit -Hn, or LimitNOFILE= of a systemd unit)",
			limit, openfiles.Needed(1))
	case given:
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--max-sandboxes", "%d sandboxes take up to %d open files, and this process may have %d; raise the hard limit (ulimit -Hn, or LimitNOFILE= of a systemd unit), or give at most %d",
			c.MaxSandboxes, openfiles.Needed(c.MaxSandboxes), limit, room)
	}
	c.Logger.Warn("fewer sandboxes than the default, for want of open files", "max_sandboxes", room, "default", c.MaxSandboxes, "open_files", limit, "wanted", openfiles.Needed(c.MaxSandboxes))
	c.MaxSandboxes = room
	return nil
}
