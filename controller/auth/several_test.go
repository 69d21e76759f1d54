package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/postgres"
	"github.com/yurtrun/yurt/test/pgserver"
)

// TestTwoControllersShareKeys: on one PostgreSQL a key that is made at one controller opens the doors of both, and its revocation at one
// ends its requests at the other within 5 s.
func TestTwoControllersShareKeys(t *testing.T) {
	url := pgserver.Start(t).Database()
	enter := func() (func(key string) (context.Context, error), auth.Store) {
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := auth.New(auth.Config{Store: postgres.Keys(store)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() {
			if err := keys.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(func() {
			stop()
			running.Wait()
			store.Close()
		})
		return func(key string) (context.Context, error) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Header.Set("Authorization", "Bearer "+key)
			entered, done, err := keys.Enter(r)
			if err != nil {
				return nil, err
			}
			t.Cleanup(done)
			return entered.Context(), nil
		}, postgres.Keys(store)
	}
	first, store := enter()
	second, other := enter()
	ctx, done := access.With(t.Context(), access.Local())
	defer done()
	record, secret, err := auth.NewKeys(store, nil).Create(ctx, auth.KeyRequest{Tenant: "acme", Scopes: []access.Scope{access.SessionsRead}})
	if err != nil {
		t.Fatal(err)
	}
	var open []context.Context
	for name, door := range map[string]func(string) (context.Context, error){"first": first, "second": second} {
		entered, err := door(secret.Reveal())
		if err != nil {
			t.Fatalf("at the %s controller: %v", name, err)
		}
		open = append(open, entered)
	}
	if _, err := auth.NewKeys(other, nil).Revoke(ctx, record.ID); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(5 * time.Second)
	for _, entered := range open {
		select {
		case <-entered.Done():
		case <-deadline:
			t.Fatal("a request goes on 5 s after its key was revoked at the other controller")
		}
	}
	for name, door := range map[string]func(string) (context.Context, error){"first": first, "second": second} {
		if _, err := door(secret.Reveal()); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
			t.Errorf("the %s controller takes the revoked key: %v", name, err)
		}
	}
}
