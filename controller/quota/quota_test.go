package quota_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/postgres"
	"github.com/yurtrun/yurt/controller/quota"
	"github.com/yurtrun/yurt/controller/tenancy"
	"github.com/yurtrun/yurt/test/pgserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startController starts a controller on a database, and returns it with its store.
func startController(t *testing.T, url string, node *nodetest.Node) (*controller.Controller, *postgres.Store) {
	t.Helper()
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	ctl, err := controller.New(controller.Config{
		Store:  tenancy.Of(store, tenancy.WithAdmission(quota.NewGuard(postgres.Quotas(store)).Admit)),
		Placer: node.Placer(), Templates: nodetest.Templates(), LeaseTime: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := ctl.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		ctl.Close()
		cancel()
		running.Wait()
		store.Close()
	})
	for ctl.Ready(t.Context()) != nil {
		time.Sleep(time.Millisecond)
	}
	return ctl, store
}

// TestQuotaHoldsAtTwoControllers: of 1,000 concurrent creates at two controllers ten succeed, and at no time eleven sessions live. Other
// tenants are not held up.
func TestQuotaHoldsAtTwoControllers(t *testing.T) {
	const most, tries = 10, 1000
	url := pgserver.Start(t).Database()
	node := nodetest.New()
	first, store := startController(t, url, node)
	second, _ := startController(t, url, node)
	quotas := postgres.Quotas(store)
	n := most
	if err := quotas.SetQuotas(t.Context(), "acme", access.Quotas{Sessions: &n}); err != nil {
		t.Fatal(err)
	}
	watched, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for watched.Err() == nil {
			if used, err := quotas.Usage(watched, "acme", time.Now()); err == nil && used.Sessions > most {
				t.Errorf("%d sessions live, and %d is the quota", used.Sessions, most)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	var made, refused atomic.Int32
	var creating sync.WaitGroup
	ctx := access.OfTenant(t.Context(), "acme")
	for i := range tries {
		creating.Go(func() {
			ctl := []*controller.Controller{first, second}[i%2]
			session, err := ctl.CreateSession(ctx, controller.CreateSessionRequest{TemplateID: "python-basic"})
			switch {
			case err == nil && session.State == yurt.SessionReady:
				made.Add(1)
			case yurt.CodeOf(err) == yurt.CodeQuotaExceeded:
				refused.Add(1)
			default:
				t.Errorf("a create: %+v, %v", session.State, err)
			}
		})
	}
	if _, err := first.CreateSession(access.OfTenant(t.Context(), "rival"), controller.CreateSessionRequest{TemplateID: "python-basic"}); err != nil {
		t.Error("another tenant's create:", err)
	}
	creating.Wait()
	stop()
	watching.Wait()
	if made.Load() != most || refused.Load() != tries-most {
		t.Errorf("%d creates succeeded and %d were refused, want %d and %d", made.Load(), refused.Load(), most, tries-most)
	}
}

// TestStorageQuota: above its quota of stored results a tenant begins no execution.
func TestStorageQuota(t *testing.T) {
	url := pgserver.Start(t).Database()
	node := nodetest.New()
	ctl, store := startController(t, url, node)
	few := yurt.Size(100)
	if err := postgres.Quotas(store).SetQuotas(t.Context(), "acme", access.Quotas{Storage: &few}); err != nil {
		t.Fatal(err)
	}
	ctx := access.OfTenant(t.Context(), "acme")
	session, err := ctl.CreateSession(ctx, controller.CreateSessionRequest{TemplateID: "python-basic"})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		begun, err := ctl.Execute(ctx, session.ID, execution.Request{Command: []string{"x", "echo hello"}})
		if yurt.CodeOf(err) == yurt.CodeQuotaExceeded {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ctl.WaitExecution(ctx, session.ID, begun.ID); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatal("executions go on above the quota of stored results")
		}
	}
}
