package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
)

func newSessionStopCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "stop ID...",
		Aliases: []string{"rm"},
		Short:   "End sessions, and everything that runs in them",
		Example: "  yurt session stop $id",
		Args:    arguments(1, -1, "one session ID or more"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.stopSessions(cmd.Context(), args) },
	}
}

// stopSessions ends every session that it can before it fails for one that it cannot.
func (a *app) stopSessions(ctx context.Context, ids []string) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	ended, failures := []yurt.Session{}, []error{}
	for _, id := range ids {
		session, err := client.EndSession(ctx, id)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		ended = append(ended, session)
		if !a.json {
			a.printf("%s %s\n", session.ID, session.State)
		}
	}
	if a.json {
		if err := a.printJSON(ended); err != nil {
			return err
		}
	}
	return errors.Join(failures...)
}
