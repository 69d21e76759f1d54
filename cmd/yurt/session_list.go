package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionListCommand(a *app) *cobra.Command {
	var (
		filter   yurtclient.SessionFilter
		state    string
		all      bool
		metadata []string
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List sessions, newest first",
		Example: `  yurt session list
  yurt session list --all --template python-basic
  yurt session list --metadata ticket=42 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.Metadata, err = parsePairs("--metadata", metadata); err != nil {
				return err
			}
			filter.State = yurt.SessionState(state)
			return a.listSessions(cmd.Context(), filter, all || state != "")
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&all, "all", "a", false, "those too that have ended")
	flags.StringVar(&state, "state", "", "only those in this state")
	flags.StringVarP(&filter.TemplateID, "template", "t", "", "only those of this template")
	flags.StringVar(&filter.AgentID, "agent", "", "only those of this agent")
	flags.StringArrayVar(&metadata, "metadata", nil, "only those with KEY=VALUE; may be repeated")
	return cmd
}

func (a *app) listSessions(ctx context.Context, filter yurtclient.SessionFilter, ended bool) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	sessions := []yurt.Session{} // not nil: JSON shows an empty list
	for {
		page, err := client.Sessions(ctx, filter)
		if err != nil {
			return err
		}
		for _, session := range page.Sessions {
			if ended || !session.State.Ended() {
				sessions = append(sessions, session)
			}
		}
		if page.NextCursor == "" {
			break
		}
		filter.Cursor = page.NextCursor
	}
	if a.json {
		return a.printJSON(sessions)
	}
	if len(sessions) == 0 {
		a.printf("no sessions; make one with \"yurt session create\"\n")
		return nil
	}
	now := time.Now()
	rows := make([][]string, len(sessions))
	for i, s := range sessions {
		rows[i] = []string{s.ID, s.TemplateID, string(s.Mode), string(s.State), ago(s.CreatedAt, now), ago(s.ActiveAt, now), s.Reason}
	}
	a.printTable([]string{"id", "template", "mode", "state", "age", "idle", "reason"}, rows)
	return nil
}
