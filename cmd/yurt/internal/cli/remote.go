package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt/cmd/yurt/internal/keycmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/listen"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// defaultServer is where yurt dev listens.
const defaultServer = "http://" + listen.Default

// Terminal returns the part of the program that commands in packages of their own use.
func (a *App) Terminal() keycmd.Terminal {
	return keycmd.Terminal{
		Client: a.Client, JSON: func() bool { return a.JSON }, PrintJSON: a.PrintJSON, PrintTable: a.PrintTable, Printf: a.Printf,
		Tell:       func(format string, args ...any) { fmt.Fprintf(a.Stderr, format, args...) },
		OnTerminal: func() bool { return a.shown().Terminal },
	}
}

// AddServerFlag lets cmd and all below it be told which server to use.
func (a *App) AddServerFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&a.Server, "server", cmp.Or(a.ServerFromEnv(), defaultServer), "the server's address; also in YURT_SERVER")
}

// ServerFromEnv returns the address of the server that the environment names; it is empty without one. YURT_URL is the older name of
// the variable, which yurt mcp and the SDKs had.
func (a *App) ServerFromEnv() string { return a.Env("YURT_SERVER", a.Env("YURT_URL", "")) }

// Client returns a client of the server that the flags name.
func (a *App) Client() (*yurtclient.Client, error) { return a.ClientOf(a.Server) }

// ClientOf returns a client of a server, with the API key of the environment: a flag would show the key to every user of the host.
func (a *App) ClientOf(server string) (*yurtclient.Client, error) {
	return yurtclient.New(server, yurtclient.WithAPIKey(a.Env("YURT_API_KEY", "")), yurtclient.WithoutWaiting())
}
