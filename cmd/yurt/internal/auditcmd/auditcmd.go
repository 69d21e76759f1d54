// Package auditcmd is the command yurt audit, which shows the audit log of a server.
package auditcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keycmd"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

const (
	defaultLimit = 100
	maxLimit     = 10000
	followPause  = time.Second
	// overlap is how long an entry may take to be in the log: entries come out of order, since servers write them in batches.
	overlap = 30 * time.Second
)

// options are the flags of the command.
type options struct {
	filter       yurtclient.AuditFilter
	decision     string
	since, until string
	follow       bool
}

// New returns the command.
func New(t keycmd.Terminal, group string) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     "audit",
		Short:   "Show the audit log: changes, refusals and security events",
		GroupID: group,
		Long: `Show the audit log of a server, the newest entries last. It has each change and each refusal,
with its API key, its address and its request id, and events that concern security: programs
that were killed for their memory or for a forbidden system call. Your key needs the scope
admin. An operator sees the entries of every tenant.`,
		Example: "  yurt audit --since 1h --decision denied\n  yurt audit --session ses_4tqzplnr3mzsyzsylstojxrtb4 --json\n  yurt audit --follow",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return viewer{t}.run(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.filter.Tenant, "tenant", "", "only entries of this tenant (default: the tenant of your key; for an operator all)")
	flags.StringVar(&o.filter.Action, "action", "", "only entries of this operation, tool or event, such as create-session, mcp:run_code or out-of-memory")
	flags.StringVar(&o.decision, "decision", "", "only entries with this decision: allowed, denied, failed or event")
	flags.StringVar(&o.filter.SessionID, "session", "", "only entries about this session")
	flags.StringVar(&o.filter.KeyID, "key", "", "only entries of this API key, by its id")
	flags.StringVar(&o.filter.Subject, "subject", "", "only entries of this caller, as its tokens of an issuer name it")
	flags.StringVar(&o.filter.RequestID, "request", "", "only entries of this request")
	flags.StringVar(&o.since, "since", "", "only entries from then on: a time such as 2026-01-02T15:04:05Z, or how long ago, such as 1h")
	flags.StringVar(&o.until, "until", "", "only entries from before: as --since")
	flags.IntVar(&o.filter.Limit, "limit", defaultLimit, "the most entries to show, the newest ones: 1 to "+strconv.Itoa(maxLimit))
	flags.BoolVarP(&o.follow, "follow", "f", false, "show further entries as they come")
	return cmd
}

// viewer shows entries on a terminal.
type viewer struct{ keycmd.Terminal }

// moment reads a time, or how long ago it was.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, flag, "%.40q is neither a time nor a duration; give one such as 2026-01-02T15:04:05Z or 1h", text)
	}
	return at, nil
}

func (v viewer) run(ctx context.Context, o options) (err error) {
	now := time.Now()
	o.filter.Decision = access.Decision(o.decision)
	if o.decision != "" && !slices.Contains(access.Decisions(), o.filter.Decision) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--decision", "there is no decision %.40q; give one of %s", o.decision, access.DecisionNames())
	}
	if o.filter.Limit < 1 || o.filter.Limit > maxLimit {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--limit", "%d is out of range; give 1 to %d", o.filter.Limit, maxLimit)
	}
	if o.filter.Since, err = moment("--since", o.since, now); err != nil {
		return err
	}
	if o.filter.Until, err = moment("--until", o.until, now); err != nil {
		return err
	}
	client, err := v.Client()
	if err != nil {
		return err
	}
	entries, err := yurtclient.Audit(ctx, client, o.filter)
	if err != nil {
		return err
	}
	slices.Reverse(entries)
	switch {
	case o.follow:
		return v.follow(ctx, client, o.filter, entries)
	case v.JSON():
		return v.PrintJSON(append([]access.Entry{}, entries...)) // never null
	}
	rows := make([][]string, len(entries))
	for i, e := range entries {
		rows[i] = row(e)
	}
	v.PrintTable([]string{"at", "tenant", "caller", "from", "action", "decision", "session", "detail"}, rows)
	return nil
}

// row returns the cells of an entry.
func row(e access.Entry) []string {
	detail := e.Detail
	if detail == "" && e.SessionID == "" {
		detail = e.Target
	}
	if e.Count > 1 {
		detail += fmt.Sprintf(" (%d times)", e.Count)
	}
	return []string{e.At.Format(time.RFC3339), e.Tenant, printable(cmp.Or(e.KeyID, e.Subject)), e.Address, e.Action, string(e.Decision), e.SessionID, printable(detail)}
}

// printable returns text without characters that a terminal acts upon: the path of a request has any.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// follow shows entries, and then further ones as they come, until ctx ends: one line each.
func (v viewer) follow(ctx context.Context, client *yurtclient.Client, filter yurtclient.AuditFilter, entries []access.Entry) error {
	shown := map[string]time.Time{} // entries of late, by id
	filter.Limit = maxLimit
	for {
		for _, e := range entries {
			if _, known := shown[e.ID]; known {
				continue
			}
			shown[e.ID] = e.At
			if err := v.line(e); err != nil {
				return err
			}
		}
		from := time.Now().Add(-overlap)
		maps.DeleteFunc(shown, func(_ string, at time.Time) bool { return at.Before(from.Add(-overlap)) })
		if from.After(filter.Since) {
			filter.Since = from
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
		var err error
		entries, err = yurtclient.Audit(ctx, client, filter)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the user ended it
		case err != nil:
			return err
		}
		slices.Reverse(entries)
	}
}

func (v viewer) line(e access.Entry) error {
	if v.JSON() {
		line, err := json.Marshal(e)
		v.Printf("%s\n", line)
		return err
	}
	cells := row(e)
	for i, cell := range cells {
		cells[i] = cmp.Or(cell, "-")
	}
	v.Printf("%s\n", strings.Join(cells, "  "))
	return nil
}
