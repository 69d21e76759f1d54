package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/yurtrun/yurt/cmd/yurt/internal/brokered"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/cmd/yurt/internal/process"
	"github.com/yurtrun/yurt/executor"
)

// dividesPower reports whether this process is to be a broker. An executor has one. A user's process that is not root cannot be a broker: it
// goes on, and fails with the reason when it comes to its sandboxes.
func (a *app) dividesPower() bool { return a.executor == nil && os.Geteuid() == 0 }

// keepExecutor is the broker of a server, by the name of its command, whose executor it starts again whenever that crashes.
func (a *app) keepExecutor(ctx context.Context, command string, f *nodeFlags, logger *slog.Logger, node string, listeners ...brokered.Listener) (err error) {
	process.Outlive(logger)
	config, err := f.config(a, logger, node)
	if err != nil {
		return err
	}
	power, err := executor.OpenPower(config)
	if err != nil {
		return err
	}
	defer func() { closed(logger, power, &err) }()
	latency := f.openLatency(logger)
	if latency != nil {
		defer latency.Close()
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	passed := make(chan os.Signal, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	level := a.takesOver(command, slog.New(slog.DiscardHandler), &f.log, reloads{}) // the executor logs the outcome
	go passHangups(ctx, level, hangups, passed)
	return (&brokered.Broker{Power: power, Signals: passed, Logger: logger, Listeners: listeners, Latency: latency}).Run(ctx)
}

// closed closes the power at the end of a broker, whose error is that of its executor, if that has one.
func closed(logger *slog.Logger, power *executor.Power, err *error) {
	failed := power.Close()
	if *err == nil {
		*err = failed
	} else if failed != nil {
		logger.Error("closing the broker", "error", failed)
	}
}

// passHangups passes SIGHUP on, at which the executor reads its settings again, and takes over the level of the broker's own log. A
// server whose terminal is gone ends by that signal.
func passHangups(ctx context.Context, level *config.Reload, from chan os.Signal, to chan<- os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case hangup := <-from:
			if level.Ends() {
				signal.Stop(from)
				_ = syscall.Kill(os.Getpid(), syscall.SIGHUP) // this process can always be sent it
				return
			}
			level.Take(ctx)
			select {
			case to <- hangup:
			default: // one is on its way
			}
		}
	}
}

// withPrivateNode has do called in a process that may start a private node, the executor of this one. The node's sandboxes end with
// this process, and its directories are removed then, however that ends. The changes are those of the broker's configuration.
func (a *app) withPrivateNode(ctx context.Context, do func(ctx context.Context) error, changes ...func(*executor.Config) error) (err error) {
	if !a.dividesPower() {
		return do(ctx)
	}
	a.removeAbandoned()
	dir, err := a.newPrivateDir(ctx)
	if err != nil {
		return cli.InitFailure(err)
	}
	defer dir.remove()
	config, err := a.privateConfig(dir.path)
	for _, change := range changes {
		if err == nil {
			err = change(&config)
		}
	}
	if err != nil {
		return cli.InitFailure(err)
	}
	power, err := executor.OpenPower(config)
	if err != nil {
		return cli.InitFailure(err)
	}
	defer func() { closed(config.Logger, power, &err) }()
	return (&brokered.Broker{Power: power, Once: true, Logger: config.Logger}).Run(ctx)
}
