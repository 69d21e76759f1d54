package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	"github.com/yurtrun/yurt/hcl"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

const (
	// completionLimit bounds how long the Tab key waits for a server.
	completionLimit = time.Second
	// maxCompletions bounds how many names a server is asked for.
	maxCompletions = 100
)

// lister asks a server for the names that complete a beginning that the user typed.
type lister func(ctx context.Context, client *yurtclient.Client, begun string) ([]cobra.Completion, error)

// Completes offers names from the server for the first argument, and as rest says for the
// others. It offers no names when the server does not answer in time.
func (a *App) Completes(list lister, rest cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, rest
		}
		return a.Ask(cmd.Context(), list, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompletesEach offers names from the server for each argument, without those already given.
func (a *App) CompletesEach(list lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		given := func(name cobra.Completion) bool {
			word, _, _ := strings.Cut(name, "\t")
			return slices.Contains(args, word)
		}
		return slices.DeleteFunc(a.Ask(cmd.Context(), list, begun), given), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompletesFlag offers names from the server for a flag of cmd.
func (a *App) CompletesFlag(cmd *cobra.Command, flag string, list lister) {
	offer := func(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.Ask(cmd.Context(), list, begun), cobra.ShellCompDirectiveNoFileComp
	}
	RegisterCompletion(cmd, flag, offer)
}

// RegisterCompletion panics where a command has no such flag, which each of its tests shows.
func RegisterCompletion(cmd *cobra.Command, flag string, offer cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic(err)
	}
}

// Ask lists the words that complete the begun one. Without an answer of the server the list is empty.
func (a *App) Ask(ctx context.Context, list lister, begun string) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	client, err := a.Client()
	if err != nil {
		return nil
	}
	names, err := list(ctx, client, begun)
	if err != nil {
		return nil // a user who presses Tab sees no error
	}
	return names
}

// CompleteSession offers the ids of sessions that have not ended.
func (a *App) CompleteSession(rest cobra.ShellCompDirective) cobra.CompletionFunc {
	return a.Completes(LiveSessions, rest)
}

// LiveSessions lists sessions that have not ended.
func LiveSessions(ctx context.Context, client *yurtclient.Client, begun string) ([]cobra.Completion, error) {
	return sessionsThat(ctx, client, begun, func(s yurt.Session) bool { return !s.State.Ended() })
}

// AllSessions lists sessions, ended ones too.
func AllSessions(ctx context.Context, client *yurtclient.Client, begun string) ([]cobra.Completion, error) {
	return sessionsThat(ctx, client, begun, func(yurt.Session) bool { return true })
}

func sessionsThat(ctx context.Context, client *yurtclient.Client, begun string, wanted func(yurt.Session) bool) ([]cobra.Completion, error) {
	prefix, bare := IDPrefix(begun), !strings.HasPrefix(begun, yurt.SessionIDPrefix)
	if part := yurt.SessionIDPrefix; len(begun) < len(part) && begun == part[:len(begun)] { // the id itself is not begun
		prefix, bare = part, false
	}
	if prefix != yurt.SessionIDPrefix && !yurt.ValidID(yurt.SessionIDPrefix, prefix) {
		return nil, nil
	}
	page, err := client.Sessions(ctx, yurtclient.SessionFilter{IDPrefix: prefix, Limit: maxCompletions})
	if err != nil {
		return nil, err
	}
	var names []cobra.Completion
	now := time.Now()
	for _, s := range page.Sessions {
		if !wanted(s) {
			continue
		}
		id := s.ID
		if bare {
			id = strings.TrimPrefix(id, yurt.SessionIDPrefix)
		}
		names = append(names, cobra.CompletionWithDesc(id, s.TemplateID+", "+string(s.State)+", "+screen.Ago(s.CreatedAt, now)))
	}
	return names, nil
}

// TemplateNames lists the templates of the server.
func TemplateNames(ctx context.Context, client *yurtclient.Client, _ string) ([]cobra.Completion, error) {
	templates, err := client.Templates(ctx)
	return describeTemplates(templates), err
}

func describeTemplates(templates []yurt.Template) []cobra.Completion {
	var names []cobra.Completion
	for _, t := range templates {
		names = append(names, cobra.CompletionWithDesc(t.Name, t.Description))
	}
	return names
}

// BuiltinTemplates offers the templates of this binary, and files.
func BuiltinTemplates(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	templates, err := hcl.Defaults()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return describeTemplates(templates), cobra.ShellCompDirectiveDefault
}

// NodeNames lists the nodes of the server.
func NodeNames(ctx context.Context, client *yurtclient.Client, _ string) ([]cobra.Completion, error) {
	nodes, err := client.Nodes(ctx)
	var names []cobra.Completion
	for _, n := range nodes {
		names = append(names, cobra.CompletionWithDesc(n.Name, NodeState(n)))
	}
	return names, err
}

// LanguageNames lists the languages of the server.
func LanguageNames(ctx context.Context, client *yurtclient.Client, _ string) ([]cobra.Completion, error) {
	runtimes, err := client.Runtimes(ctx)
	var names []cobra.Completion
	for _, r := range runtimes {
		names = append(names, r.Languages...)
	}
	return names, err
}

// NodeState is the node's own state, and Nomad's where that differs: a node whose client of
// Nomad is away serves its sandboxes, and gets no new ones.
func NodeState(n yurt.NodeInfo) string {
	state := "ready"
	switch {
	case !n.Healthy:
		state = "down"
	case n.Draining:
		state = "draining"
	}
	if n.NomadStatus != "" {
		state += ", Nomad: " + n.NomadStatus
	}
	return state
}

// IDPrefix returns the beginning of an id with the "ses_" that a person may leave out.
func IDPrefix(written string) string {
	if strings.HasPrefix(written, yurt.SessionIDPrefix) {
		return written
	}
	return yurt.SessionIDPrefix + written
}
