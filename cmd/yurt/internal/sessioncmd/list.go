package sessioncmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionListCommand(a *app) *cobra.Command {
	var (
		filter   yurtclient.SessionFilter
		state    string
		all      bool
		limit    arguments.Limit
		metadata []string
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List sessions, newest first",
		Example: `  yurt session list
  yurt session list --all --template python-basic
  yurt session list --metadata ticket=42 --json`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.Metadata, err = cli.ParsePairs("--metadata", metadata); err != nil {
				return err
			}
			filter.State = yurt.SessionState(state)
			filter.Live = !all && state == ""
			return a.listSessions(cmd.Context(), filter, int(limit))
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&all, "all", "a", false, "also those that have ended")
	flags.StringVar(&state, "state", "", "only those in this state")
	flags.StringVarP(&filter.TemplateID, "template", "t", "", "only those of this template")
	flags.StringVar(&filter.AgentID, "agent", "", "only those of this agent")
	limit.Add(flags, "the newest")
	flags.StringArrayVar(&metadata, "metadata", nil, "only those with KEY=VALUE; may be repeated")
	a.CompletesFlag(cmd, "template", cli.TemplateNames)
	cli.RegisterCompletion(cmd, "state", cobra.FixedCompletions(stateNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func stateNames() (names []cobra.Completion) {
	for _, state := range yurt.SessionStates() {
		names = append(names, string(state))
	}
	return names
}

func (a *app) listSessions(ctx context.Context, filter yurtclient.SessionFilter, limit int) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	sessions, err := findSessions(ctx, client, filter, limit)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(sessions)
	}
	if len(sessions) == 0 {
		a.Printf("no sessions; make one with \"yurt session create\"\n")
		return nil
	}
	now := time.Now()
	rows := make([][]string, len(sessions))
	for i, s := range sessions {
		rows[i] = []string{s.ID, s.TemplateID, string(s.State), screen.Ago(s.CreatedAt, now), screen.Ago(s.ActiveAt, now), s.Reason}
		if s.State == yurt.SessionReady || s.State == yurt.SessionRunning { // as they should be
			rows[i][5] = ""
		}
	}
	a.PrintTable([]string{"id", "template", "state", "age", "idle", "reason"}, rows)
	return nil
}

// findSessions reads all pages of a list, or as many as it takes for limit sessions, where that is not 0. The list is never nil: JSON
// shows an empty one.
func findSessions(ctx context.Context, client *yurtclient.Client, filter yurtclient.SessionFilter, limit int) ([]yurt.Session, error) {
	sessions := []yurt.Session{}
	for session, err := range yurtclient.EachSession(ctx, client, filter) {
		if err != nil {
			return nil, err
		}
		if sessions = append(sessions, session); len(sessions) == limit {
			break
		}
	}
	return sessions, nil
}
