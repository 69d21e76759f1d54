// Package process prepares the process of a server for a long life beside sandboxes. A host that refuses one of the preparations
// has a server without it, which logs that.
package process

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/sysmon"
	"github.com/yurtrun/yurt/internal/linux/oomscore"
	"github.com/yurtrun/yurt/internal/memlimit"
)

// Serve prepares the process of any server.
func Serve(logger *slog.Logger) {
	outliveReaders()
	slacken(logger)
	goal, err := memlimit.Set()
	switch {
	case err != nil:
		logger.Warn("the memory of this process follows no limit", "error", err)
	case goal > 0:
		logger.Info("memory follows the limit of the cgroup", "goal", yurt.Size(goal).String())
	}
}

// Outlive prepares the process of a broker. When memory is short, the kernel ends other processes than the broker and its executors, which
// inherit the score.
func Outlive(logger *slog.Logger) {
	outliveReaders()
	slacken(logger)
	if err := oomscore.Lower(oomscore.Service); err != nil {
		logger.Debug("the kernel spares this server no more than others when memory is short", "error", err)
	}
}

// slacken has the runtime's monitor wake up less often: a command wakes a broker a few times, and the monitor each time.
func slacken(logger *slog.Logger) {
	if err := sysmon.Slacken(); err != nil {
		logger.Debug("the runtime's monitor wakes up as often as it does", "error", err)
	}
}

// outliveReaders keeps a server alive that prints to a pipe without a reader: the end of the process that started the server is no
// reason to leave its sandboxes. A signal that is notified, unlike one that is ignored, has its default action in child processes.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
