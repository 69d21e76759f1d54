package executor

import (
	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/openfiles"
)

// sandboxBound returns how many sandboxes there may be at once: as many as the configuration says, if
// the node's process may open enough files for them. It refuses a number that was given and is too
// large, and lowers one that is only the default. Without that the node would accept sandboxes and
// then fail in the middle of making them.
func (c Config) sandboxBound(given bool) (int, error) {
	limit, err := openfiles.Limit()
	if err != nil {
		return 0, err
	}
	return c.sandboxBoundBy(limit, given)
}

func (c Config) sandboxBoundBy(limit int, given bool) (int, error) {
	room := openfiles.Room(limit)
	switch {
	case c.MaxSandboxes <= room:
		return c.MaxSandboxes, nil
	case room == 0:
		return 0, yurt.Errorf(yurt.CodeSandboxFailed, "this process may have %d files open, and one sandbox takes up to %d; raise the hard limit (ulimit -Hn, or LimitNOFILE= of a systemd unit)",
			limit, openfiles.Needed(1))
	case given:
		return 0, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--max-sandboxes", "%d sandboxes take up to %d open files, and this process may have %d; raise the hard limit (ulimit -Hn, or LimitNOFILE= of a systemd unit), or give at most %d",
			c.MaxSandboxes, openfiles.Needed(c.MaxSandboxes), limit, room)
	}
	c.Logger.Warn("fewer sandboxes than the default, for want of open files", "max_sandboxes", room, "default", c.MaxSandboxes, "open_files", limit, "wanted", openfiles.Needed(c.MaxSandboxes))
	return room, nil
}
