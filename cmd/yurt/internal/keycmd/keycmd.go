// Package keycmd is the command yurt key, which makes, lists and revokes API keys: at a server by the REST API, or in the database
// of a server, such as before its first start.
package keycmd

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	"github.com/yurtrun/yurt/cmd/yurt/internal/storage"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// Terminal is the part of the program that the command uses: its client and its output.
type Terminal struct {
	Client     func() (*yurtclient.Client, error)
	JSON       func() bool
	PrintJSON  func(v any) error
	PrintTable func(head []string, rows [][]string)
	Printf     func(format string, args ...any)
	Tell       func(format string, args ...any) // to standard error
	OnTerminal func() bool                      // whether a person sees the output as it is written
}

// keyring manages keys: a server's REST API, or a database.
type keyring interface {
	Create(ctx context.Context, req yurtclient.CreateKeyRequest) (access.Key, access.Secret, error)
	List(ctx context.Context, tenant string) ([]access.Key, error)
	Revoke(ctx context.Context, id string) (access.Key, error)
}

// New returns the commands below a parent that has the flag --server.
func New(t Terminal) []*cobra.Command {
	return []*cobra.Command{newCreate(t), newList(t), newRevoke(t)}
}

// addStore adds the flag that says to use a database.
func addStore(cmd *cobra.Command, where *string) {
	cmd.Flags().StringVar(where, "store", "", "use the database itself, as before the first start of its server: the URL of a PostgreSQL database, or the path of an SQLite file that no server has open")
}

// with opens the keys, and closes them when use has returned.
func (t Terminal) with(ctx context.Context, where string, use func(ctx context.Context, keys keyring) error) (err error) {
	if where == "" {
		client, err := t.Client()
		if err != nil {
			return err
		}
		return use(ctx, client.Keys())
	}
	store, err := storage.Open(ctx, where, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	ctx, done := access.With(ctx, access.Local())
	defer done()
	return use(ctx, database{auth.NewKeys(store.Keys, nil)})
}

func newCreate(t Terminal) *cobra.Command {
	var (
		req     yurtclient.CreateKeyRequest
		where   string
		scopes  []string
		expires time.Duration
	)
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an API key, and show it this once",
		Long: `Create an API key, and show it this once. Give it to programs as YURT_API_KEY.

A key of the tenant "default" with the scope admin is an operator's: it manages the keys of
every tenant. The first one is made in the database, before the server starts: controller.db in
the state directory of yurt controller, or yurt.db in that of yurt dev.`,
		Example: "  yurt key create --tenant acme --scope sessions:read,sessions:write,sessions:execute --expires 720h\n" +
			"  yurt key create --store /var/lib/yurt/controller.db --scope admin",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, scope := range scopes {
				req.Scopes = append(req.Scopes, access.Scope(scope))
			}
			if cmd.Flags().Changed("expires") {
				expiresIn := yurt.Duration(expires)
				req.ExpiresIn = &expiresIn
			}
			if err := access.CheckScopes("--scope", req.Scopes); err != nil {
				return err // before a database is made
			}
			if err := storage.MakeRoom(where); err != nil {
				return err
			}
			return t.with(cmd.Context(), where, func(ctx context.Context, keys keyring) error { return t.create(ctx, keys, req) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&req.Tenant, "tenant", "", "the tenant that the key belongs to (default: the tenant of your key, or default)")
	flags.StringVar(&req.Name, "name", "", "a name by which users recognise the key")
	flags.StringSliceVar(&scopes, "scope", nil, "a scope of the key: "+access.Names(access.Scopes())+"; may be repeated")
	flags.DurationVar(&expires, "expires", 0, "how long the key is valid, such as 720h (default: until it is revoked)")
	addStore(cmd, &where)
	return cmd
}

func (t Terminal) create(ctx context.Context, keys keyring, req yurtclient.CreateKeyRequest) error {
	key, secret, err := keys.Create(ctx, req)
	if err != nil {
		return err
	}
	return t.show(key, secret, "Made %s of the tenant %s. The key is shown this once: keep it, and give it to programs as YURT_API_KEY.\n", key.ID, key.Tenant)
}

// show prints a key that was made, and tells about it beside the output.
func (t Terminal) show(key access.Key, secret access.Secret, about string, args ...any) error {
	if t.JSON() {
		return t.PrintJSON(struct {
			access.Key
			Secret string `json:"key"`
		}{key, secret.Reveal()})
	}
	t.Printf("%s\n", secret.Reveal())
	t.Tell(about, args...)
	return nil
}

func newList(t Terminal) *cobra.Command {
	var (
		tenant, where string
		limit         arguments.Limit
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List API keys, newest first",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.with(cmd.Context(), where, func(ctx context.Context, keys keyring) error { return t.list(ctx, keys, tenant, limit) })
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "whose keys; an operator may give * for all (default: the tenant of your key)")
	limit.Add(cmd.Flags(), "the newest")
	addStore(cmd, &where)
	return cmd
}

func (t Terminal) list(ctx context.Context, keys keyring, tenant string, limit arguments.Limit) error {
	list, err := keys.List(ctx, tenant)
	if err != nil {
		return err
	}
	list = arguments.First(list, limit)
	if t.JSON() {
		return t.PrintJSON(append([]access.Key{}, list...)) // never null
	}
	now := time.Now()
	rows := make([][]string, len(list))
	for i, key := range list {
		var scopes []string
		for _, scope := range key.Scopes {
			scopes = append(scopes, string(scope))
		}
		rows[i] = []string{key.ID, key.Tenant, key.Name, strings.Join(scopes, ","), screen.Ago(key.CreatedAt, now), lastUse(key, now), state(key, now)}
	}
	t.PrintTable([]string{"id", "tenant", "name", "scopes", "age", "last used", "state"}, rows)
	return nil
}

func lastUse(key access.Key, now time.Time) string {
	if key.UsedAt == nil {
		return "never"
	}
	return screen.Ago(*key.UsedAt, now)
}

func state(key access.Key, now time.Time) string {
	switch {
	case key.RevokedAt != nil:
		return "revoked"
	case key.ExpiresAt == nil:
		return "in force"
	case !now.Before(*key.ExpiresAt):
		return "expired"
	default:
		return "until " + key.ExpiresAt.Format(time.RFC3339)
	}
}

func newRevoke(t Terminal) *cobra.Command {
	var where string
	cmd := &cobra.Command{
		Use:   "revoke ID...",
		Short: "Revoke API keys",
		Long: `Revoke API keys, by the ids that yurt key list shows. Each controller refuses a revoked key
within 5 s, and ends its open streams and terminals. Executions go on.`,
		Example: "  yurt key revoke key_4tqzplnr3mzsyzsylstojxrtb4",
		Args:    arguments.Between(1, -1, "one key ID or more"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return t.with(cmd.Context(), where, func(ctx context.Context, keys keyring) error { return t.revoke(ctx, keys, ids) })
		},
	}
	addStore(cmd, &where)
	return cmd
}

func (t Terminal) revoke(ctx context.Context, keys keyring, ids []string) error {
	revoked := []access.Key{}
	for _, id := range ids {
		key, err := keys.Revoke(ctx, id)
		if err != nil {
			return err
		}
		revoked = append(revoked, key)
		if !t.JSON() {
			t.Printf("%s is revoked\n", id)
		}
	}
	if t.JSON() {
		return t.PrintJSON(revoked)
	}
	return nil
}

// database is the keyring of a database that no server guards.
type database struct{ keys *auth.Keys }

// Create implements keyring.
func (d database) Create(ctx context.Context, req yurtclient.CreateKeyRequest) (access.Key, access.Secret, error) {
	return d.keys.Create(ctx, auth.KeyRequest{Tenant: req.Tenant, Name: req.Name, Scopes: req.Scopes, Expires: req.ExpiresIn})
}

// List implements keyring.
func (d database) List(ctx context.Context, tenant string) ([]access.Key, error) {
	return d.keys.List(ctx, tenant, contract.Position{}, 0)
}

// Revoke implements keyring.
func (d database) Revoke(ctx context.Context, id string) (access.Key, error) {
	return d.keys.Revoke(ctx, id)
}
