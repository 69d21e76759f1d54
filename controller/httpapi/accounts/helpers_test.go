package accounts_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/accounts"
	"github.com/yurtrun/yurt/controller/httpapi/contexts"
	"github.com/yurtrun/yurt/controller/httpapi/fleet"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/mcp"
	"github.com/yurtrun/yurt/controller/meter"
	"github.com/yurtrun/yurt/controller/once"
	"github.com/yurtrun/yurt/controller/quota"
	"github.com/yurtrun/yurt/controller/se"
	"github.com/yurtrun/yurt/controller/sqlite"
	"github.com/yurtrun/yurt/controller/tenancy"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server that asks for keys, with all its doors, over a real controller and store and a node from package nodetest.
type world struct {
	*httptest.Server
	t     testing.TB
	ctl   *controller.Controller
	node  *nodetest.Node
	store auth.Store

	sessions contract.Store // of all tenants
	audit    *audit.Log
	quotas   quota.Store
	meter    *meter.Recorder
	once     *once.Requests
	dir      string // of the database and the file of the audit log
	logs     nodetest.Logs
}

func newWorld(t testing.TB) *world { return newWorldOf(t, nil) }

// newWorldOf is a server that takes tokens of an issuer too.
func newWorldOf(t testing.TB, issuer auth.Issuer) *world {
	t.Helper()
	w := &world{t: t, node: nodetest.New(), dir: t.TempDir()}
	store, err := sqlite.Open(context.Background(), filepath.Join(w.dir, "yurt.db"))
	must(t, err)
	t.Cleanup(func() { store.Close() })
	w.store = sqlite.Keys(store)
	w.sessions = store
	w.quotas = sqlite.Quotas(store)
	w.once, err = once.New(once.Config{Store: sqlite.Requests(store)})
	must(t, err)
	w.audit, err = audit.New(audit.Config{Store: sqlite.Audit(store), File: filepath.Join(w.dir, "audit.jsonl")})
	must(t, err)
	run(t, w.audit.Run)
	w.ctl, err = controller.New(controller.Config{Store: tenancy.Of(store, tenancy.WithEnded(w.audit.ExecutionEnded), tenancy.WithAdmission(quota.NewGuard(sqlite.Quotas(store)).Admit)), Placer: w.node.Placer(), Templates: nodetest.Templates()})
	must(t, err)
	w.meter, err = meter.New(meter.Config{Store: sqlite.Samples(store), Sessions: w.ctl, Resolution: 100 * time.Millisecond})
	must(t, err)
	keys, err := auth.New(auth.Config{Store: w.store, Issuer: issuer, Logger: slog.New(slog.NewTextHandler(&w.logs, nil))})
	must(t, err)
	run(t, w.ctl.Run)
	t.Cleanup(func() { w.ctl.Close() })
	run(t, keys.Run)
	run(t, func(ctx context.Context) error { return w.meter.Run(access.Systemwide(ctx)) })
	w.serve(keys)
	for w.ctl.Ready(t.Context()) != nil {
		time.Sleep(time.Millisecond)
	}
	return w
}

// run runs a part of the server until the test ends.
func run(t testing.TB, part func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := part(ctx); err != nil {
			t.Error("running a part of the server:", err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

func (w *world) serve(keys *auth.Authenticator) {
	agents, err := mcp.New(mcp.Config{Sessions: w.ctl, Executions: w.ctl, Files: w.ctl, Version: "1", Decide: auth.NewPolicy().Decide, Audit: w.audit})
	must(w.t, err)
	older, err := se.New(se.Config{Sessions: w.ctl, Executions: w.ctl, Files: w.ctl})
	must(w.t, err)
	beside := older.Handlers()
	for _, method := range []string{"GET", "POST", "DELETE"} {
		beside[method+" /mcp"] = agents.Handler()
	}
	path, unknown := older.Unknown()
	api, err := httpapi.New(httpapi.Config{
		Unknown:    map[string]http.Handler{path: unknown},
		Controller: w.ctl, Keys: keys, Beside: beside, Logger: slog.New(slog.NewTextHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Audit:             w.audit,
		Once:              w.once,
		Extensions:        []httpapi.Extension{accounts.Keys(auth.NewKeys(w.store, nil)), accounts.Tokens(auth.NewKeys(w.store, nil), w.ctl), accounts.Audit(w.audit), accounts.Tenants(quota.NewTenants(w.quotas)), accounts.Samples(w.meter), contexts.Operations(w.ctl), fleet.Operations(w.ctl)},
		ParseTemplateJSON: func([]byte) (yurt.Template, error) { return yurt.Template{Name: "another"}, nil },
		ParseTemplateHCL: func(_ context.Context, _ string, source []byte) ([]yurt.Template, error) { // package hcl has tests of its own
			return []yurt.Template{{Name: strings.Fields(string(source) + " another")[0]}}, nil
		},
	})
	must(w.t, err)
	w.Server = httptest.NewServer(api)
	w.t.Cleanup(func() {
		w.node.Release()
		api.Drain()
		agents.Close()
		w.Client().CloseIdleConnections()
		w.Server.CloseClientConnections()
		w.Close()
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// key makes a key of a tenant, and returns its record and itself.
func (w *world) key(tenant string, scopes ...access.Scope) (access.Key, string) {
	w.t.Helper()
	ctx, done := access.With(context.Background(), access.Local())
	defer done()
	key, secret, err := auth.NewKeys(w.store, nil).Create(ctx, auth.KeyRequest{Tenant: tenant, Scopes: scopes})
	must(w.t, err)
	return key, secret.Reveal()
}

// revoke revokes a key as another controller of the store does.
func (w *world) revoke(id string) {
	w.t.Helper()
	ctx, done := access.With(context.Background(), access.Local())
	defer done()
	_, err := auth.NewKeys(w.store, nil).Revoke(ctx, id)
	must(w.t, err)
}

// client returns a client of the server with a key.
func (w *world) client(key string) *yurtclient.Client {
	w.t.Helper()
	c, err := yurtclient.New(w.URL, yurtclient.WithHTTPClient(w.Client()), yurtclient.WithAPIKey(key))
	must(w.t, err)
	return c
}

// do makes a request with a key, or without one, and returns the status and the code or body of the answer.
func (w *world) do(key, method, path, body string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.URL+path, strings.NewReader(body))
	must(w.t, err)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := w.Client().Do(req)
	must(w.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(w.t, err)
	var problem struct{ Code string }
	if json.Unmarshal(data, &problem) == nil && problem.Code != "" {
		return resp.StatusCode, problem.Code
	}
	return resp.StatusCode, string(data)
}

// bearer adds a key to each request.
type bearer struct {
	http.RoundTripper
	key string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.RoundTripper.RoundTrip(r)
}

// agent connects to the server by MCP with a key.
func (w *world) agent(key string) *sdk.ClientSession {
	w.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &sdk.StreamableClientTransport{
		Endpoint: w.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer{w.Client().Transport, key}}, MaxRetries: -1,
	}, nil)
	must(w.t, err)
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}
