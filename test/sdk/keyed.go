package sdk

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/testutil"
)

// keyed is a server that asks for API keys.
type keyed struct {
	server     *devserver.Server
	url, admin string
	keys       yurtclient.Keys // of an operator
}

func keyedServer(t *testing.T) keyed {
	t.Helper()
	testutil.NeedsSandboxes(t)
	program, state := testutil.BuildYurt(t, "yurt-sdk", "sdk"), t.TempDir()
	admin, err := exec.CommandContext(t.Context(), program, "key", "create", "--store", filepath.Join(state, "yurt.db"), "--scope", "admin").Output()
	if err != nil {
		t.Fatal(err)
	}
	server, err := devserver.Run(context.WithoutCancel(t.Context()), program, state, "dev", "--listen", "127.0.0.1:0", "--require-keys")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		testutil.CheckNothingLeft(t, state)
	})
	s := keyed{server: server, url: server.URL, admin: strings.TrimSpace(string(admin))}
	s.keys = s.client(t, s.admin).Keys()
	return s
}

func (s keyed) client(t *testing.T, key string) *yurtclient.Client {
	t.Helper()
	client, err := yurtclient.New(s.url, yurtclient.WithAPIKey(key))
	if err != nil {
		t.Fatal(err)
	}
	return client
}
