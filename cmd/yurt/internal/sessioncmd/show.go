package sessioncmd

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
)

func newSessionShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show one session",
		Example:           "  yurt session show ses_4q7kz2m5x3nd6w7v2yj5p4hb2e",
		Args:              arguments.Between(1, 1, "one session ID"),
		ValidArgsFunction: a.Completes(cli.AllSessions, cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.showSession(cmd.Context(), args[0]) },
	}
}

func (a *app) showSession(ctx context.Context, id string) error {
	client, err := a.clientFor(ctx, &id)
	if err != nil {
		return err
	}
	session, err := client.Session(ctx, id)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(session)
	}
	a.PrintFacts(sessionFacts(session, time.Now()))
	return nil
}

// sessionFacts lists the facts of a session that a person wants to see, in that order.
func sessionFacts(s yurt.Session, now time.Time) [][2]string {
	facts := [][2]string{
		{"id", s.ID},
		{"template", s.TemplateID},
		{"mode", string(s.Mode)},
		{"state", string(s.State)},
		{"reason", s.Reason},
		{"created", s.CreatedAt.Local().Format(time.DateTime) + ", " + screen.Ago(s.CreatedAt, now) + " ago"},
	}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, [2]string{name, value})
		}
	}
	if s.EndedAt != nil {
		add("ended", s.EndedAt.Local().Format(time.DateTime)+", "+screen.Ago(*s.EndedAt, now)+" ago")
	} else {
		at, reason := s.Expiry()
		add("ends", at.Local().Format(time.DateTime)+" if not used or raised: "+reason)
	}
	add("agent", s.AgentID)
	add("limits", screen.Number(s.Resources.CPU, 2)+" CPU, "+screen.Size(int64(s.Resources.Memory))+" memory, "+
		screen.Size(int64(s.Resources.Disk))+" disk, "+strconv.Itoa(s.Resources.PIDs)+" processes"+extraLimits(s.Resources))
	if s.Placement.Kind != "" {
		add("placement", string(s.Placement.Kind)+" on "+s.Placement.Node)
	}
	add("sandbox", s.SandboxID)
	for _, phase := range slices.Sorted(maps.Keys(s.Placement.Phases)) {
		add("  "+phase, cli.InMS(s.Placement.Phases[phase]))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Metadata)) {
		add("metadata", key+"="+s.Metadata[key])
	}
	return facts
}

// extraLimits are those that few sessions have.
func extraLimits(r yurt.Resources) (text string) {
	add := func(set bool, what string) {
		if set {
			text += ", " + what
		}
	}
	add(r.DiskKind == yurt.DiskImage, "disk on an image")
	add(r.DiskKind == yurt.DiskQuota, "disk by quota")
	add(r.IOWeight != 0, "I/O weight "+strconv.Itoa(r.IOWeight))
	add(r.Ulimits.NoFile != 0, strconv.Itoa(r.Ulimits.NoFile)+" open files")
	add(r.Ulimits.FSize != 0, "files of "+screen.Size(int64(r.Ulimits.FSize)))
	add(r.Ulimits.Stack != 0, "stacks of "+screen.Size(int64(r.Ulimits.Stack)))
	return text
}
