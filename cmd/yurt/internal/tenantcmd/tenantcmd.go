// Package tenantcmd is the commands yurt tenant and yurt usage: the quotas of tenants, how much they use of them, and the last 24 hours.
package tenantcmd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keycmd"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// unbounded is the value of a flag that takes a quota away.
const unbounded = "none"

type commands struct{ keycmd.Terminal }

// New returns the commands below yurt tenant.
func New(t keycmd.Terminal) []*cobra.Command {
	c := commands{t}
	return []*cobra.Command{c.newSet(), c.newShow(), c.newList()}
}

// flag is a quota as a flag sets it.
type flag struct {
	name, help string
	set        func(q *access.Quotas, field, value string) error
}

func quotaFlags() []flag {
	return []flag{
		{"max-sessions", "sessions at once", func(q *access.Quotas, f, v string) error { return setCount(&q.Sessions, f, v) }},
		{"max-creates-per-minute", "sessions that are made within a minute", func(q *access.Quotas, f, v string) error { return setCount(&q.CreatesPerMinute, f, v) }},
		{"max-cpu", "cores of all sessions together", func(q *access.Quotas, f, v string) error { return setCores(&q.CPU, f, v) }},
		{"max-memory", "memory of all sessions together, such as 64Gi", func(q *access.Quotas, f, v string) error { return setSize(&q.Memory, f, v) }},
		{"max-disk", "workspaces of all sessions together, such as 100Gi", func(q *access.Quotas, f, v string) error { return setSize(&q.Disk, f, v) }},
		{"max-executions", "executions at once", func(q *access.Quotas, f, v string) error { return setCount(&q.Executions, f, v) }},
		{"max-storage", "results that are kept, such as 10Gi", func(q *access.Quotas, f, v string) error { return setSize(&q.Storage, f, v) }},
	}
}

func setCount(to **int, field, text string) error {
	if text == unbounded {
		*to = nil
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%.40q is no count; give 0 or more, or %s", text, unbounded)
	}
	*to = &n
	return nil
}

func setCores(to **float64, field, text string) error {
	if text == unbounded {
		*to = nil
		return nil
	}
	cores, err := strconv.ParseFloat(text, 64)
	if err != nil || cores < 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%.40q is no number of cores; give one such as 1.5, or %s", text, unbounded)
	}
	*to = &cores
	return nil
}

func setSize(to **yurt.Size, field, text string) error {
	if text == unbounded {
		*to = nil
		return nil
	}
	size, err := yurt.ParseSize(text)
	if err != nil || size < 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%.40q is no size; give one such as 64Gi, or %s", text, unbounded)
	}
	*to = &size
	return nil
}

func (c commands) newSet() *cobra.Command {
	values := map[string]*string{}
	cmd := &cobra.Command{
		Use:   "set TENANT",
		Short: "Set quotas of a tenant",
		Long: `Set quotas of a tenant, and leave the others as they are. The value "none" takes a quota away.
Your key has to be an operator's. Sessions beyond a new quota go on.`,
		Example: "  yurt tenant set acme --max-sessions 10 --max-memory 64Gi\n  yurt tenant set acme --max-cpu none",
		Args:    arguments.Between(1, 1, "the name of one TENANT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			changed := map[string]string{}
			for name, value := range values {
				if cmd.Flags().Changed(name) {
					changed[name] = *value
				}
			}
			if len(changed) == 0 {
				return yurt.Errorf(yurt.CodeInvalidArgument, "no quota is given; give one such as --max-sessions 10, or see yurt tenant show")
			}
			return c.set(cmd.Context(), args[0], changed)
		},
	}
	for _, f := range quotaFlags() {
		values[f.name] = cmd.Flags().String(f.name, "", f.help+`; "none" for no quota`)
	}
	return cmd
}

func (c commands) set(ctx context.Context, tenant string, changed map[string]string) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	tenants := yurtclient.NewTenants(client)
	now, err := tenants.Usage(ctx, tenant)
	if err != nil {
		return err
	}
	quotas := now.Quotas
	for _, f := range quotaFlags() {
		if value, given := changed[f.name]; given {
			if err := f.set(&quotas, "--"+f.name, value); err != nil {
				return err
			}
		}
	}
	usage, err := tenants.SetQuotas(ctx, tenant, quotas)
	if err != nil {
		return err
	}
	return c.print(usage)
}

func (c commands) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show TENANT", Short: "Show the quotas and the use of a tenant", Args: arguments.Between(1, 1, "the name of one TENANT"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.show(cmd.Context(), args[0]) },
	}
}

func (c commands) show(ctx context.Context, tenant string) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	usage, err := yurtclient.NewTenants(client).Usage(ctx, tenant)
	if err != nil {
		return err
	}
	return c.print(usage)
}

// print shows a tenant: a line for each quota.
func (c commands) print(t access.TenantUsage) error {
	if c.JSON() {
		return c.PrintJSON(t)
	}
	rows := make([][]string, 0, len(cells(t)))
	for i, name := range heads() {
		used, most := cells(t)[i][0], cells(t)[i][1]
		rows = append(rows, []string{name, used, most})
	}
	c.PrintTable([]string{t.Tenant, "used", "quota"}, rows)
	return nil
}

func heads() []string {
	return []string{"sessions", "creates a minute", "cpu", "memory", "disk", "executions", "storage"}
}

// cells returns the use and the quota of each row of heads.
func cells(t access.TenantUsage) [][2]string {
	u, q := t.Usage, t.Quotas
	return [][2]string{
		{strconv.Itoa(u.Sessions), shown(q.Sessions)},
		{strconv.Itoa(u.CreatesPerMinute), shown(q.CreatesPerMinute)},
		{strconv.FormatFloat(u.CPU, 'g', 6, 64), shown(q.CPU)},
		{u.Memory.String(), shown(q.Memory)},
		{u.Disk.String(), shown(q.Disk)},
		{strconv.Itoa(u.Executions), shown(q.Executions)},
		{u.Storage.String(), shown(q.Storage)},
	}
}

func shown[T any](quota *T) string {
	if quota == nil {
		return "-"
	}
	return fmt.Sprint(*quota)
}

func (c commands) newList() *cobra.Command {
	var limit arguments.Limit
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tenants with their use and their quotas", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.list(cmd.Context(), limit) },
	}
	limit.Add(cmd.Flags(), "the first")
	return cmd
}

func (c commands) list(ctx context.Context, limit arguments.Limit) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	list, err := yurtclient.NewTenants(client).List(ctx)
	if err != nil {
		return err
	}
	list = arguments.First(list, limit)
	if c.JSON() {
		return c.PrintJSON(append([]access.TenantUsage{}, list...)) // never null
	}
	rows := make([][]string, len(list))
	for i, t := range list {
		rows[i] = []string{t.Tenant}
		for _, cell := range cells(t) {
			text := cell[0]
			if cell[1] != "-" {
				text += "/" + cell[1]
			}
			rows[i] = append(rows[i], text)
		}
	}
	c.PrintTable(append([]string{"tenant"}, heads()...), rows)
	return nil
}
