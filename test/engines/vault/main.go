// Command vault is the server of Vault for the tests of Yurt on a real cluster: its core and
// its API, with the secrets engine kv, the auth method jwt and storage in memory, which goes
// with the process. All of Vault takes many times as long to build.
//
//	vault ADDRESS
//
// It begins sealed and without keys, as any Vault does.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	jwt "github.com/hashicorp/vault-plugin-auth-jwt"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: vault ADDRESS")
	}
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Info})
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return err
	}
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical: storage, StorageType: "inmem", DisableMlock: true, Logger: logger, BuiltinRegistry: builtin{},
		LogicalBackends:    map[string]logical.Factory{"kv": kv.Factory},
		CredentialBackends: map[string]logical.Factory{"jwt": jwt.Factory},
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	server := http.Server{
		Handler: vaulthttp.Handler.Handler(&vault.HandlerProperties{
			Core: core, ListenerConfig: &configutil.Listener{Type: "tcp", Address: args[0], MaxRequestDuration: time.Minute},
		}),
		ReadHeaderTimeout: time.Minute,
	}
	return server.Serve(listener)
}

// builtin says which plugins are part of this program.
type builtin struct{}

func (builtin) Get(name string, kind consts.PluginType) (func() (any, error), bool) {
	switch {
	case name == "kv" && kind == consts.PluginTypeSecrets:
		return func() (any, error) { return logical.Factory(kv.Factory), nil }, true
	case name == "jwt" && kind == consts.PluginTypeCredential:
		return func() (any, error) { return logical.Factory(jwt.Factory), nil }, true
	}
	return nil, false
}

func (b builtin) Contains(name string, kind consts.PluginType) bool {
	_, there := b.Get(name, kind)
	return there
}

func (builtin) Keys(kind consts.PluginType) []string {
	switch kind {
	case consts.PluginTypeSecrets:
		return []string{"kv"}
	case consts.PluginTypeCredential:
		return []string{"jwt"}
	}
	return nil
}

func (b builtin) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, b.Contains(name, kind)
}

func (builtin) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }
