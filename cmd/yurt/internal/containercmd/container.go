package containercmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// New makes the commands that show the sandboxes of a server.
func New(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := cli.Parent("container", "Show the sandboxes under the sessions, and whether they work", cli.GroupServer,
		newListCommand(a), newShowCommand(a), newLogsCommand(a))
	a.AddServerFlag(cmd)
	return cmd
}

func newListCommand(a *app) *cobra.Command {
	var (
		filter yurtclient.ContainerFilter
		state  string
		limit  arguments.Limit
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the sandboxes, the oldest first, also the warm ones that have no session yet",
		Example: "  yurt container list --node node-1\n  yurt container list --session $id",
		Args:    arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter.State = yurt.SandboxState(state)
			return a.list(cmd.Context(), filter, limit)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "", "only those in this state: ready, paused or dead")
	flags.StringVarP(&filter.Template, "template", "t", "", "only those of this template")
	flags.StringVar(&filter.Node, "node", "", "only those on this node")
	flags.StringVar(&filter.SessionID, "session", "", "only that of this session")
	limit.Add(flags, "the oldest")
	cli.RegisterCompletion(cmd, "state", cobra.FixedCompletions([]cobra.Completion{string(yurt.SandboxReady), string(yurt.SandboxPaused), string(yurt.SandboxDead)}, cobra.ShellCompDirectiveNoFileComp))
	a.CompletesFlag(cmd, "template", cli.TemplateNames)
	a.CompletesFlag(cmd, "node", cli.NodeNames)
	return cmd
}

func (a *app) list(ctx context.Context, filter yurtclient.ContainerFilter, limit arguments.Limit) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	list, err := client.Containers(ctx, filter)
	if err != nil {
		return err
	}
	list = arguments.First(list, limit)
	if a.JSON {
		return a.PrintJSON(append([]yurt.Sandbox{}, list...)) // never null
	}
	now, rows := time.Now(), make([][]string, len(list))
	for i, s := range list {
		rows[i] = []string{s.ID, s.Template, s.Node, string(s.State), screen.Ago(s.CreatedAt, now), owner(s), s.Reason}
	}
	a.PrintTable([]string{"id", "template", "node", "state", "age", "session", "reason"}, rows)
	return nil
}

// owner names the session that a sandbox is of.
func owner(s yurt.Sandbox) string {
	if s.Warm {
		return "none yet: warm"
	}
	return s.Labels[yurt.SessionLabel]
}

func newShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show a sandbox: whether it works, and its use of its limits",
		Example:           "  yurt container show sbx_4q7kz2m5x3nd6w7v2yj5p4hb2e",
		Args:              arguments.Between(1, 1, "one sandbox ID"),
		ValidArgsFunction: a.Completes(sandboxIDs, cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.show(cmd.Context(), args[0]) },
	}
}

func (a *app) show(ctx context.Context, id string) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	sandbox, err := yurtclient.Container(ctx, client, id)
	if err != nil {
		return err
	}
	health, err := yurtclient.ContainerHealth(ctx, client, id)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(struct {
			yurt.Sandbox
			Health yurt.SandboxHealth `json:"health"`
		}{sandbox, health})
	}
	a.PrintFacts(factsOf(sandbox, health, time.Now()))
	return nil
}

func newLogsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Show the output of the executions in a sandbox, the newest last",
		Long: `Show the output of the executions in a sandbox, the newest last, as "yurt session logs" shows that
of its session. With --follow further output is shown until the session ends.`,
		Example:           "  yurt container logs sbx_4q7kz2m5x3nd6w7v2yj5p4hb2e --follow",
		Args:              arguments.Between(1, 1, "one sandbox ID"),
		ValidArgsFunction: a.Completes(sandboxIDs, cobra.ShellCompDirectiveNoFileComp),
	}
	return a.ShowsLog(cmd, func(_ context.Context, id string) (cli.Log, error) {
		client, err := a.Client()
		return cli.Log{
			Read: func(ctx context.Context, limit int) ([]yurt.LogEntry, bool, error) {
				return yurtclient.ContainerLogs(ctx, client, id, limit)
			},
			Follow: func(ctx context.Context, limit int, each func(yurt.LogEntry) error) error {
				return yurtclient.FollowContainerLogs(ctx, client, id, limit, each)
			},
		}, err
	})
}

// sandboxIDs lists the sandboxes of the server for completion.
func sandboxIDs(ctx context.Context, client *yurtclient.Client, begun string) ([]cobra.Completion, error) {
	list, err := client.Containers(ctx)
	var names []cobra.Completion
	for _, s := range list {
		if strings.HasPrefix(s.ID, begun) {
			names = append(names, cobra.CompletionWithDesc(s.ID, s.Template+", "+string(s.State)))
		}
	}
	return names, err
}
