package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/meter"
	"github.com/yurtrun/yurt/controller/once"
	"github.com/yurtrun/yurt/controller/postgres"
	"github.com/yurtrun/yurt/controller/quota"
	"github.com/yurtrun/yurt/controller/storetest"
	"github.com/yurtrun/yurt/test/pgserver"
)

func open(t *testing.T, url string) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error("closing the store:", err)
		}
	})
	return store
}

func TestKeyConformance(t *testing.T) {
	server := pgserver.Start(t)
	storetest.RunKeys(t, func(t *testing.T) auth.Store { return postgres.Keys(open(t, server.Database())) })
}

func TestAuditConformance(t *testing.T) {
	server := pgserver.Start(t)
	storetest.RunAudit(t, func(t *testing.T) (audit.Store, func(context.Context, string) error) {
		url := server.Database()
		store := open(t, url)
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		exec := func(ctx context.Context, text string) error {
			_, err := conn.Exec(ctx, text)
			return err
		}
		if exec(t.Context(), "TRUNCATE audit") == nil {
			t.Error("the audit log can be emptied")
		}
		return postgres.Audit(store), exec
	})
}

func TestSampleConformance(t *testing.T) {
	server := pgserver.Start(t)
	storetest.RunSamples(t, func(t *testing.T) meter.Store { return postgres.Samples(open(t, server.Database())) })
}

func TestRequestConformance(t *testing.T) {
	server := pgserver.Start(t)
	storetest.RunRequests(t, func(t *testing.T) once.Store { return postgres.Requests(open(t, server.Database())) })
}

func TestQuotaConformance(t *testing.T) {
	server := pgserver.Start(t)
	storetest.RunQuotas(t, func(t *testing.T) (contract.Store, quota.Store) {
		store := open(t, server.Database())
		return store, postgres.Quotas(store)
	})
}

func TestConformance(t *testing.T) {
	server := pgserver.Start(t)
	storetest.Run(t, func(t *testing.T) contract.Store { return open(t, server.Database()) })
}

// TestControllersThatStartAtOnce has several migrate one database.
func TestControllersThatStartAtOnce(t *testing.T) {
	url := pgserver.Start(t).Database()
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			store, err := postgres.Open(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			err = store.SetPoolSize(t.Context(), "a", yurt.PoolSize{Min: n, Max: n})
			if err := errors.Join(err, store.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestSecretsOfTheURLAreNotTold(t *testing.T) {
	for _, url := range []string{
		"postgres://yurt:hunter2@127.0.0.1:1/yurt?connect_timeout=1",
		"postgres://yurt:hunter2@127.0.0.1:port/yurt",
		"postgres://yurt:hunter2@host/yurt?sslmode=maybe",
		"host=127.0.0.1 password=hunter2",
	} {
		_, err := postgres.Open(t.Context(), url)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error %v", err)
		}
	}
}

// TestOddText stores text that PostgreSQL cannot represent.
func TestOddText(t *testing.T) {
	store := open(t, pgserver.Start(t).Database())
	at := time.Unix(1, 2).UTC()
	s := yurt.Session{ID: yurt.NewSessionID(), State: yurt.SessionReady, Reason: "it said \xff\x00", CreatedAt: at, UpdatedAt: at, ActiveAt: at}
	key := &contract.IdempotencyKey{Key: "\xff\x00", SessionID: s.ID}
	if err := store.CreateSession(t.Context(), s, yurt.Transition{To: s.State, Reason: s.Reason}, key); err != nil {
		t.Fatal(err)
	}
	got, err := store.Session(t.Context(), s.ID)
	if err != nil || got.Reason != "it said ��" {
		t.Errorf("the reason is %q, error %v", got.Reason, err)
	}
	if _, ok, err := store.SessionByKey(t.Context(), key.Key); !ok || err != nil {
		t.Errorf("the key is there: %v, error %v", ok, err)
	}
}

// TestNewerSchemaIsRefused: this version would not maintain a newer version's data correctly.
func TestNewerSchemaIsRefused(t *testing.T) {
	url := pgserver.Start(t).Database()
	first, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)"); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), url)
	if err == nil {
		store.Close()
		t.Fatal("the store was opened")
	}
	if yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), "version 99") || !strings.Contains(err.Error(), "versions up to ") {
		t.Errorf("error %v with code %s", err, yurt.CodeOf(err))
	}
}
