package load

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/testutil"
)

// template has sandboxes that start soon and use little.
const template = "shell-basic"

// server is a "yurt dev" that asks for keys.
type server struct {
	*devserver.Server

	program, state string
	args           []string
	admin          *yurtclient.Client
	key            string       // of the operator
	crowd          *http.Client // of clients that are no friends
}

// serve starts a server, which ends with the test.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	testutil.NeedsSandboxes(t)
	program, state := testutil.BuildYurt(t, "yurt-load", "load"), t.TempDir()
	key, err := exec.CommandContext(t.Context(), program, "key", "create", "--store", filepath.Join(state, "yurt.db"), "--scope", "admin").Output()
	if err != nil {
		t.Fatal("making the first key:", err)
	}
	s := &server{program: program, state: state, args: args, key: strings.TrimSpace(string(key)), crowd: &http.Client{Transport: transport(t)}}
	s.start(t)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		testutil.CheckNothingLeft(t, state)
	})
	s.admin = s.client(t, s.key)
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	args := append([]string{"dev", "--listen", "127.0.0.1:0", "--require-keys", "--log-level", "error"}, s.args...)
	running, err := devserver.Run(context.WithoutCancel(t.Context()), s.program, s.state, args...)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = running
}

// client returns a client with a key and connections of its own, which repeats no call.
func (s *server) client(t *testing.T, key string) *yurtclient.Client {
	t.Helper()
	client, err := yurtclient.New(s.URL, yurtclient.WithAPIKey(key), yurtclient.WithHTTPClient(&http.Client{Transport: transport(t)}), yurtclient.WithPatience(0))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// transport returns connections of their own, which are closed with the test.
func transport(t *testing.T) *http.Transport {
	t.Helper()
	own := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck // it is of that type
	own.MaxIdleConnsPerHost = 64
	t.Cleanup(own.CloseIdleConnections)
	return own
}

// tenant makes a key of a tenant, and returns its client.
func (s *server) tenant(t *testing.T, name string) *yurtclient.Client {
	t.Helper()
	_, secret, err := s.admin.Keys().Create(t.Context(), yurtclient.CreateKeyRequest{
		Tenant: name, Scopes: []access.Scope{access.SessionsRead, access.SessionsWrite, access.SessionsExecute, access.Files},
	})
	if err != nil {
		t.Fatal("making a key:", err)
	}
	return s.client(t, secret.Reveal())
}
