package keycmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// NewToken returns the command yurt session token.
func NewToken(t Terminal) *cobra.Command {
	var (
		scopes  []string
		expires time.Duration
	)
	cmd := &cobra.Command{
		Use:   "token ID",
		Short: "Create a token for one session, and show it this once",
		Long: `Create a token for one session, for a browser or an agent, and show it this once. Programs send it
as they send an API key, such as in YURT_API_KEY. It reaches only this session, and ends with the
session, with your key, and when it expires.`,
		Example: "  yurt session token $id --scope sessions:read,sessions:execute --expires 10m",
		Args:    arguments.Between(1, 1, "one session ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := yurtclient.CreateTokenRequest{}
			for _, scope := range scopes {
				req.Scopes = append(req.Scopes, access.Scope(scope))
			}
			if cmd.Flags().Changed("expires") {
				expiresIn := yurt.Duration(expires)
				req.ExpiresIn = &expiresIn
			}
			return t.token(cmd.Context(), args[0], req)
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", []string{string(access.SessionsRead), string(access.SessionsExecute)},
		"a scope of the token: sessions:read, sessions:write, sessions:execute or files; may be repeated")
	cmd.Flags().DurationVar(&expires, "expires", time.Hour, "how long the token is valid, at most 24h")
	return cmd
}

func (t Terminal) token(ctx context.Context, sessionID string, req yurtclient.CreateTokenRequest) error {
	client, err := t.Client()
	if err != nil {
		return err
	}
	token, secret, err := client.Keys().CreateToken(ctx, sessionID, req)
	if err != nil {
		return err
	}
	return t.show(token, secret, "Made the token %s for %s, until %s. It is shown this once.\n", token.ID, sessionID, token.ExpiresAt.Format(time.RFC3339))
}
