package sessioncmd

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

type sessionCreateFlags struct {
	template, mode, agent string
	reuse                 bool
	timeout, idleTimeout  string
	cpu, memory, disk     string
	pids, ioWeight        int
	diskKind              string
	ulimits               []string
	env, metadata, files  []string
}

func newSessionCreateCommand(a *app) *cobra.Command {
	var f sessionCreateFlags
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a session and print its id",
		Long: `Create a session, wait until its sandbox is ready, and print its id.

Standard output has the id alone. The session is persistent unless --mode says otherwise: it
takes any number of executions until it is stopped or times out.

Files of --file are in its workspace before it is ready. LOCAL is a file, a directory with all
its files, or "-" for standard input. PATH is its place relative to ` + yurt.WorkspaceDir + `; without PATH, or
where PATH ends in a slash, LOCAL keeps its name. The limits are 256 files and 16Mi; "yurt
session cp" copies more.`,
		Example: `  id=$(yurt session create)
  yurt session create --template shell-basic --memory 128Mi --timeout 10m
  yurt session create --file main.py --file data.csv:input/ --file src
  yurt session create --disk 20Gi --disk-kind image --ulimit nofile=16384
  yurt session create --mode ephemeral --env API_URL=http://example.com --metadata ticket=42`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.createSession(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.template, "template", "t", yurt.DefaultTemplate, "the template of its sandbox")
	flags.StringVar(&f.mode, "mode", string(yurt.ModePersistent), "persistent, or ephemeral for one execution")
	flags.StringVar(&f.agent, "agent", "", "the agent it belongs to")
	flags.BoolVar(&f.reuse, "reuse", false, "with --agent: print the id of a live session of the agent that has the same template, resources and variables, where there is one")
	flags.StringVar(&f.timeout, "timeout", "", "how long it may live, such as 1h (default: the template's)")
	flags.StringVar(&f.idleTimeout, "idle-timeout", "", "how long it may go unused, such as 10m (default: the template's)")
	flags.StringVar(&f.cpu, "cpu", "", "CPU limit in cores, such as 0.5 or 500m (default: the template's)")
	flags.StringVar(&f.memory, "memory", "", "memory limit, such as 512Mi (default: the template's)")
	flags.StringVar(&f.disk, "disk", "", "size of "+yurt.WorkspaceDir+", such as 256Mi (default: the template's)")
	flags.IntVar(&f.pids, "pids", 0, "limit of processes and threads (default: the template's)")
	flags.StringVar(&f.diskKind, "disk-kind", "", "where --disk is held: memory, image for a file on the node's disk, or quota for a directory there (default: the template's)")
	flags.IntVar(&f.ioWeight, "io-weight", 0, "weight for the time of disks, 1 to 1000; 100 is usual (default: the template's)")
	flags.StringArrayVar(&f.ulimits, "ulimit", nil, "nofile=N, fsize=SIZE or stack=SIZE for each process (default: the template's); may be repeated")
	flags.StringArrayVar(&f.env, "env", nil, "an environment variable of its programs: NAME=VALUE, or NAME to copy the one here; may be repeated")
	flags.StringArrayVar(&f.files, "file", nil, "a file to copy into it first: LOCAL, or LOCAL:PATH; may be repeated")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "a label for session list: KEY=VALUE; may be repeated")
	a.CompletesFlag(cmd, "template", cli.TemplateNames)
	modes := []cobra.Completion{string(yurt.ModePersistent), string(yurt.ModeEphemeral)}
	cli.RegisterCompletion(cmd, "mode", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) createSession(ctx context.Context, f sessionCreateFlags) error {
	req, err := f.request(a)
	if err != nil {
		return err
	}
	client, err := a.Client()
	if err != nil {
		return err
	}
	end := a.WaitForSandbox(ctx, client, req.TemplateID)
	session, err := client.CreateSession(ctx, req)
	end()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(session)
	}
	a.Printf("%s\n", session.ID)
	return nil
}

func (f sessionCreateFlags) request(a *app) (yurtclient.CreateSessionRequest, error) {
	req := yurtclient.CreateSessionRequest{TemplateID: f.template, Mode: yurt.Mode(f.mode), AgentID: f.agent, Reuse: f.reuse}
	resources := yurtclient.Resources{PIDs: f.pids, DiskKind: yurt.DiskKind(f.diskKind), IOWeight: f.ioWeight}
	err := cmp.Or(
		cli.ParseFlag("--timeout", f.timeout, yurt.ParseDuration, &req.Timeout),
		cli.ParseFlag("--idle-timeout", f.idleTimeout, yurt.ParseDuration, &req.IdleTimeout),
		cli.ParseFlag("--cpu", f.cpu, yurt.ParseCPU, &resources.CPU),
		cli.ParseFlag("--memory", f.memory, yurt.ParseSize, &resources.Memory),
		cli.ParseFlag("--disk", f.disk, yurt.ParseSize, &resources.Disk),
		parseUlimits(f.ulimits, &resources.Ulimits),
	)
	if err != nil {
		return req, err
	}
	if resources != (yurtclient.Resources{}) {
		req.Resources = &resources
	}
	if req.Metadata, err = cli.ParsePairs("--metadata", f.metadata); err != nil {
		return req, err
	}
	if req.Files, err = a.readFiles(f.files); err != nil {
		return req, err
	}
	req.Env, err = a.ParseEnv(f.env)
	return req, err
}

func parseUlimits(settings []string, into *yurt.Ulimits) error {
	pairs, err := cli.ParsePairs("--ulimit", settings)
	if err != nil {
		return err
	}
	for name, text := range pairs {
		flag := "--ulimit " + name
		switch name {
		case "nofile":
			err = cli.ParseFlag(flag, text, strconv.Atoi, &into.NoFile)
		case "fsize":
			err = cli.ParseFlag(flag, text, yurt.ParseSize, &into.FSize)
		case "stack":
			err = cli.ParseFlag(flag, text, yurt.ParseSize, &into.Stack)
		default:
			err = yurt.FieldErrorf(yurt.CodeInvalidArgument, flag, "there is no such limit; give nofile, fsize or stack")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
