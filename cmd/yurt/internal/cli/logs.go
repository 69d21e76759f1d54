package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
)

// Log reads one log of a server.
type Log struct {
	Read   func(ctx context.Context, limit int) (entries []yurt.LogEntry, truncated bool, err error)
	Follow func(ctx context.Context, limit int, each func(yurt.LogEntry) error) error
}

// ShowsLog gives a command, whose one argument is an id, the flags of a log, and has it show the log that open returns.
func (a *App) ShowsLog(cmd *cobra.Command, open func(ctx context.Context, id string) (Log, error)) *cobra.Command {
	var follow bool
	var tail string
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show further output as it comes")
	cmd.Flags().StringVar(&tail, "tail", yurt.Size(yurt.DefaultLogBytes).String(), "how much past output to show, at most")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		limit, err := yurt.ParseSize(tail)
		if err != nil {
			return yurt.FieldErrorf(yurt.CodeOf(err), "--tail", "%w", err)
		}
		if limit < 1 || limit > yurt.MaxLogBytes {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--tail", "%s is out of range; give 1 to %s", limit, yurt.Size(yurt.MaxLogBytes))
		}
		log, err := open(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if follow {
			return log.Follow(cmd.Context(), int(limit), a.showEntry)
		}
		return a.showLog(cmd.Context(), log, int(limit))
	}
	return cmd
}

// loggedEntry is an entry as --json shows it.
type loggedEntry struct {
	yurt.LogEntry
	Data string `json:"data"`
}

func (a *App) showEntry(e yurt.LogEntry) error {
	if a.JSON {
		return a.PrintJSON(loggedEntry{e, string(e.Data)})
	}
	return a.PassOn(yurt.Event{Type: e.Type, Data: e.Data})
}

func (a *App) showLog(ctx context.Context, log Log, limit int) error {
	entries, truncated, err := log.Read(ctx, limit)
	if err != nil {
		return err
	}
	if a.JSON {
		list := make([]loggedEntry, len(entries))
		for i, e := range entries {
			list[i] = loggedEntry{e, string(e.Data)}
		}
		return a.PrintJSON(list)
	}
	if truncated {
		fmt.Fprintln(a.Stderr, "yurt: there was more before; --tail shows more of it")
	}
	for _, e := range entries {
		if err := a.showEntry(e); err != nil {
			return err
		}
	}
	return nil
}
