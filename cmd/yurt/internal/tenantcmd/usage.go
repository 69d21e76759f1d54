package tenantcmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keycmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// pictureSpan is the time that the picture shows, and pictureWidth its columns: an hour each.
const (
	pictureSpan  = 24 * time.Hour
	pictureWidth = 24
)

// NewUsage returns the command yurt usage.
func NewUsage(t keycmd.Terminal, group string) *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use: "usage", Short: "Show the quotas and the use of your tenant", GroupID: group, Args: cobra.NoArgs,
		Long: `Show the quotas of your tenant and its use of them, then the real use in the last 24 hours: now, the
mean, and the highest of the samples, of which there is one every five minutes. A terminal shows a
picture too, with an hour a column. With --session the use is that of one session.`,
		Example: "  yurt usage\n  yurt usage --session ses_4q7k2m --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if session != "" {
				return commands{t}.showSession(cmd.Context(), session)
			}
			return commands{t}.showUsage(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&session, "session", "", "the session whose use to show, by its id")
	return cmd
}

// usage is a tenant with its use, now and over time.
type usage struct {
	access.TenantUsage

	Resolution yurt.Duration        `json:"resolution"`
	Samples    []access.UsageSample `json:"samples"`
}

func (c commands) showUsage(ctx context.Context) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	tenants := yurtclient.NewTenants(client)
	now, err := tenants.Usage(ctx, "")
	if err != nil {
		return err
	}
	history, err := tenants.Samples(ctx, "")
	if err != nil {
		return err
	}
	if c.JSON() {
		return c.PrintJSON(usage{now, history.Resolution, history.Samples})
	}
	if err := c.print(now); err != nil {
		return err
	}
	c.Printf("\n")
	c.printHistory(history, time.Now())
	return nil
}

func (c commands) showSession(ctx context.Context, id string) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	history, err := yurtclient.NewTenants(client).SessionSamples(ctx, id)
	if err != nil {
		return err
	}
	if c.JSON() {
		return c.PrintJSON(history)
	}
	c.printHistory(history, time.Now())
	return nil
}

// series is one line of the picture.
type series struct {
	name  string
	of    func(access.UsageSample) float64
	shown func(float64) string
}

func allSeries() []series {
	size := func(value float64) string { return screen.Size(int64(value)) }
	return []series{
		{"sessions", func(s access.UsageSample) float64 { return float64(s.Sessions) }, func(v float64) string { return screen.Number(v, 1) }},
		{"cores", func(s access.UsageSample) float64 { return s.CPU }, func(v float64) string { return screen.Number(v, 2) }},
		{"memory", func(s access.UsageSample) float64 { return float64(s.Memory) }, size},
		{"disk", func(s access.UsageSample) float64 { return float64(s.Disk) }, size},
	}
}

// printHistory shows the last 24 hours: a line for each kind of use.
func (c commands) printHistory(history access.UsageHistory, now time.Time) {
	if len(history.Samples) == 0 {
		c.Printf("There are no samples of the last 24 hours; the first comes within %d minutes of a session.\n", int(history.Resolution.Std().Minutes()))
		return
	}
	head := []string{"last 24 h", "now", "mean", "highest"}
	if c.OnTerminal() {
		head = append(head, "picture")
	}
	var rows [][]string
	for _, s := range allSeries() {
		values := make([]float64, len(history.Samples))
		sum, highest := 0.0, 0.0
		for i, sample := range history.Samples {
			values[i] = s.of(sample)
			sum, highest = sum+values[i], max(highest, values[i])
		}
		latest := 0.0
		if last := len(values) - 1; now.Sub(history.Samples[last].At) < 2*time.Duration(history.Resolution) {
			latest = values[last]
		}
		row := []string{s.name, s.shown(latest), s.shown(sum / float64(len(values))), s.shown(highest)}
		if c.OnTerminal() {
			row = append(row, picture(history.Samples, s.of, now))
		}
		rows = append(rows, row)
	}
	c.PrintTable(head, rows)
}

// picture draws samples as bars, the newest at the right. A column shows the highest of its samples, and a dot is a time without any.
func picture(samples []access.UsageSample, of func(access.UsageSample) float64, now time.Time) string {
	columns := make([]float64, pictureWidth)
	for i := range columns {
		columns[i] = -1
	}
	highest := 0.0
	for _, sample := range samples {
		i := pictureWidth - 1 - int(now.Sub(sample.At)*pictureWidth/pictureSpan)
		if i < 0 || i >= pictureWidth {
			continue
		}
		columns[i] = max(columns[i], of(sample))
		highest = max(highest, columns[i])
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	var text strings.Builder
	for _, value := range columns {
		switch {
		case value < 0:
			text.WriteRune('·')
		case highest == 0:
			text.WriteRune(bars[0])
		default:
			text.WriteRune(bars[min(len(bars)-1, int(value/highest*float64(len(bars))))])
		}
	}
	return text.String()
}
