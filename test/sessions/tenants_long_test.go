//go:build long

package sessions

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/identity"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/collector"
	"github.com/yurtrun/yurt/test/pgserver"
	"github.com/yurtrun/yurt/test/testutil"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// service is a cluster with keys for many tenants.
type service struct {
	*yurtcluster.Cluster
	key      string // of the operator
	admin    *yurtclient.Client
	received *collector.Collector
}

// TestTwoTenants has two tenants work side by side on a cluster of two controllers, following docs/KEYS.md: one reaches its quota, a
// key is revoked, and the authority of the connections between controllers and nodes is replaced, while no other request of either
// tenant fails. The audit log, a trace and the metrics of the dashboards show all that.
func TestTwoTenants(t *testing.T) {
	s := startService(t)
	red, blue := s.tenant(t, "red"), s.tenant(t, "blue")
	working := work(t, red, blue)
	s.reachesQuota(t, blue)
	s.revokesKey(t)
	s.replacesAuthority(t, red, working)
	working.end()
	t.Logf("%d executions of both tenants succeeded meanwhile", working.done.Load())
	s.seenInTrace(t, red)
	s.seenOnDashboard(t)
}

// startService starts two controllers that ask for keys.
func startService(t *testing.T) *service {
	t.Helper()
	received, endpoint := collector.Start(t)
	store := pgserver.Start(t).Database()
	key, err := exec.CommandContext(t.Context(), testutil.BuildYurt(t, "yurt", "test"), "key", "create", "--store", store, "--scope", "admin").Output()
	if err != nil {
		t.Fatal("making the first key:", err)
	}
	s := &service{key: strings.TrimSpace(string(key)), received: received, Cluster: yurtcluster.Test(t, yurtcluster.Options{
		Store: store, ControllerArgs: []string{"--require-keys", "--otlp-endpoint", endpoint},
	})}
	if _, err := s.StartController(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.admin = s.client(t, 0, s.key)
	return s
}

// client returns a client of a controller, by its place.
func (s *service) client(t *testing.T, controller int, key string) *yurtclient.Client {
	t.Helper()
	client, err := yurtclient.New(s.Controllers[controller].URL, yurtclient.WithAPIKey(key))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// tenant is a tenant with a session, and its clients of both controllers.
type tenant struct {
	name, key string
	clients   []*yurtclient.Client
	session   yurt.Session
}

func (s *service) tenant(t *testing.T, name string) *tenant {
	t.Helper()
	own := &tenant{name: name, key: s.newKey(t, name)}
	for n := range s.Controllers {
		own.clients = append(own.clients, s.client(t, n, own.key))
	}
	var err error
	if own.session, err = own.clients[0].CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: template, Mode: yurt.ModePersistent}); err != nil {
		t.Fatalf("a session of %s: %v", name, err)
	}
	return own
}

func (s *service) newKey(t *testing.T, tenant string) string {
	t.Helper()
	_, secret, err := s.admin.Keys().Create(t.Context(), yurtclient.CreateKeyRequest{
		Tenant: tenant, Scopes: []access.Scope{access.SessionsRead, access.SessionsWrite, access.SessionsExecute},
	})
	if err != nil {
		t.Fatalf("a key of %s: %v", tenant, err)
	}
	return secret.Reveal()
}

// run has the tenant's session do some work by way of a controller.
func (o *tenant) run(ctx context.Context, client *yurtclient.Client) error {
	e, err := client.Execute(ctx, o.session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "echo " + o.name}})
	if err == nil && (e.Result == nil || e.Result.Stdout != o.name+"\n") {
		err = fmt.Errorf("the execution ended as %+v", e.Result)
	}
	return err
}

// works is the work of tenants that goes on meanwhile, at both controllers.
type works struct {
	done atomic.Int64
	end  func()
}

func work(t *testing.T, tenants ...*tenant) *works {
	t.Helper()
	w := &works{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var working sync.WaitGroup
	w.end = sync.OnceFunc(func() { cancel(); working.Wait() })
	t.Cleanup(w.end)
	for _, own := range tenants {
		for n, client := range own.clients {
			working.Go(func() {
				for ctx.Err() == nil {
					if err := own.run(ctx, client); err != nil && ctx.Err() == nil {
						t.Errorf("work of %s at controller %d: %v", own.name, n+1, err)
						return
					}
					w.done.Add(1)
				}
			})
		}
	}
	return w
}

// goesOn wants some more work to be done.
func (w *works) goesOn(t *testing.T) {
	t.Helper()
	before := w.done.Load()
	testutil.Eventually(t, "both tenants work", func() bool { return w.done.Load() >= before+20 || t.Failed() })
}

// reachesQuota: the tenant's second session is one too many, at either controller.
func (s *service) reachesQuota(t *testing.T, own *tenant) {
	t.Helper()
	one := 1
	if _, err := yurtclient.NewTenants(s.admin).SetQuotas(t.Context(), own.name, access.Quotas{Sessions: &one}); err != nil {
		t.Fatal(err)
	}
	for n, client := range own.clients {
		_, err := client.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: template})
		if yurt.CodeOf(err) != yurt.CodeQuotaExceeded {
			t.Errorf("beyond the quota a create at controller %d has the error %v", n+1, err)
		}
	}
	s.seenInAudit(t, yurtclient.AuditFilter{Tenant: own.name, Action: "create-session", Decision: access.Denied})
	s.seenInAudit(t, yurtclient.AuditFilter{Action: "set-quotas", Decision: access.Allowed})
}

// revokesKey: a revoked key is refused at both controllers within 5 s.
func (s *service) revokesKey(t *testing.T) {
	t.Helper()
	key, secret, err := s.admin.Keys().Create(t.Context(), yurtclient.CreateKeyRequest{Tenant: "red", Scopes: []access.Scope{access.SessionsRead}})
	if err != nil {
		t.Fatal(err)
	}
	var clients []*yurtclient.Client
	for n := range s.Controllers {
		client := s.client(t, n, secret.Reveal())
		if _, err := client.Sessions(t.Context(), yurtclient.SessionFilter{}); err != nil {
			t.Fatalf("before it is revoked the key is refused by controller %d: %v", n+1, err)
		}
		clients = append(clients, client)
	}
	if _, err := s.admin.Keys().Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	for n, client := range clients {
		testutil.Eventually(t, "the key is refused", func() bool {
			_, err := client.Sessions(t.Context(), yurtclient.SessionFilter{})
			return yurt.CodeOf(err) == yurt.CodeUnauthenticated
		})
		if took := time.Since(revoked); took > testutil.Moment(t, 5*time.Second) {
			t.Errorf("controller %d refuses the key after %s", n+1, took)
		}
	}
	s.seenInAudit(t, yurtclient.AuditFilter{Action: "revoke-key", Decision: access.Allowed})
	s.seenInAudit(t, yurtclient.AuditFilter{Action: "authenticate", Decision: access.Denied, KeyID: key.ID, Tenant: "red"})
}

// seenInAudit waits for an entry of the audit log.
func (s *service) seenInAudit(t *testing.T, filter yurtclient.AuditFilter) {
	t.Helper()
	filter.Limit = 1
	testutil.Eventually(t, fmt.Sprintf("the audit log has %s %s", filter.Decision, filter.Action), func() bool {
		entries, err := yurtclient.Audit(t.Context(), s.admin, filter)
		return err == nil && len(entries) == 1
	})
}

// replacesAuthority: while the authority is replaced, work goes on over open connections, and a controller that is started after each
// step works over new ones. A certificate of the replaced authority is refused then.
func (s *service) replacesAuthority(t *testing.T, own *tenant, working *works) {
	t.Helper()
	old := s.oldCertificate(t)
	err := s.ReplaceAuthority(func(step string) error {
		if _, err := s.StartController(context.WithoutCancel(t.Context())); err != nil {
			return err
		}
		client := s.client(t, len(s.Controllers)-1, own.key)
		for range 5 {
			if err := own.run(t.Context(), client); err != nil {
				return fmt.Errorf("by new connections, when %s: %w", step, err)
			}
		}
		working.goesOn(t)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.refuses(t, old)
}

// oldCertificate returns the files of a controller as they are now.
func (s *service) oldCertificate(t *testing.T) identity.Files {
	t.Helper()
	dir := t.TempDir()
	copied := func(from ...string) string {
		data, err := os.ReadFile(filepath.Join(append([]string{s.Dir}, from...)...))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, from[len(from)-1])
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return to
	}
	return identity.Files{Authorities: copied("ca", identity.AuthorityFile), Certificate: copied("controller1.pem"), Key: copied("controller1-key.pem")}
}

// refuses wants the node to refuse a caller with the files.
func (s *service) refuses(t *testing.T, files identity.Files) {
	t.Helper()
	files.Authorities = filepath.Join(s.Dir, "ca", identity.AuthorityFile) // so that the caller itself trusts the node
	source, err := identity.Open(files, identity.RoleController, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return // a part whose own certificate is of no authority that it trusts does not even start
	}
	nodes, err := s.admin.Nodes(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatalf("the nodes are %+v, %v", nodes, err)
	}
	client, err := api.NewTLSClient(nodes[0].Address, nodes[0].Name, source)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := client.Describe(ctx); err == nil {
		t.Error("the node takes a certificate of the replaced authority")
	}
}

// seenInTrace: the trace of a request goes through controller and node.
func (s *service) seenInTrace(t *testing.T, own *tenant) {
	t.Helper()
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0: 21}, SpanID: trace.SpanID{0: 21}, TraceFlags: trace.FlagsSampled})
	if err := own.run(trace.ContextWithSpanContext(t.Context(), span), own.clients[1]); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "the trace of the execution is there", func() bool {
		_, there := s.received.Of(span.TraceID())["POST /api/v1/sessions/{id}/execute"]
		return there
	})
}

// seenOnDashboard: a controller has the metrics of the dashboard of tenants, with both tenants and the refused key.
func (s *service) seenOnDashboard(t *testing.T) {
	t.Helper()
	dashboard, err := os.ReadFile(filepath.Join(testutil.Root(t), "deploy", "grafana", "tenant.json"))
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`yurt_[a-z_]+`).FindAllString(string(dashboard), -1)
	if len(shown) == 0 {
		t.Fatal("the dashboard of tenants shows no metric")
	}
	var metrics string
	testutil.Eventually(t, "the metrics have both tenants", func() bool {
		metrics = s.metrics(t)
		return strings.Contains(metrics, `yurt_tenant_sessions{state="ready",tenant="red"} 1`) && strings.Contains(metrics, `yurt_tenant_sessions{state="ready",tenant="blue"} 1`)
	})
	for _, name := range shown {
		if !strings.Contains(metrics, "\n"+name+"{") && !strings.Contains(metrics, "\n"+name+" ") {
			t.Errorf("the dashboard of tenants shows %s, and no controller has that metric", name)
		}
	}
}

// metrics returns those of the first controller.
func (s *service) metrics(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Controllers[0].URL+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
