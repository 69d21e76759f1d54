package access_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/access"
)

func TestSecretDoesNotPrint(t *testing.T) {
	key := access.GenerateKey()
	var out bytes.Buffer
	holder := struct {
		Key access.Secret
		key access.Secret
	}{key, key}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb+"\n", key, holder)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("a key", "key", key, "holder", holder)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("a key", "key", key, "holder", holder)
	if err := json.NewEncoder(&out).Encode(holder); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&out, fmt.Errorf("refusing %v: %w", key, errors.New("no")))
	secret := strings.TrimPrefix(key.Reveal(), access.KeyPrefix)
	for _, form := range []string{secret, hex.EncodeToString([]byte(secret)), fmt.Sprintf("%d", []byte(secret)[:8])} {
		if strings.Contains(out.String(), strings.Trim(form, "[]")) {
			t.Errorf("the secret is printed:\n%s", out.String())
		}
	}
}

func TestKeysDiffer(t *testing.T) {
	seen := map[access.Hash]bool{}
	for range 100 {
		key := access.GenerateKey().Reveal()
		hash, ok := access.HashKey(key)
		if !ok || seen[hash] || len(key) != 57 {
			t.Fatalf("a key of %d characters, known %v, form %v", len(key), seen[hash], ok)
		}
		seen[hash] = true
	}
}

// TestPrincipalEnds: a request ends with the life of its caller, and the life of the caller not with the request.
func TestPrincipalEnds(t *testing.T) {
	live, end := context.WithCancelCause(t.Context())
	caller := &access.Principal{Tenant: "acme", Live: live}
	first, done := access.With(t.Context(), caller)
	second, doneToo := access.With(t.Context(), caller)
	defer doneToo()
	done()
	if first.Err() == nil || second.Err() != nil || live.Err() != nil {
		t.Errorf("after the first request ended: %v, %v, %v", first.Err(), second.Err(), live.Err())
	}
	reason := errors.New("revoked")
	end(reason)
	<-second.Done()
	if context.Cause(second) != reason { //nolint:errorlint // it is the error itself
		t.Errorf("the second request ended with %v", context.Cause(second))
	}
}

func TestTenantNames(t *testing.T) {
	for _, name := range []string{"a", "acme-2", strings.Repeat("a", 40)} {
		if err := access.CheckTenant("tenant", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "-a", "A", "a b", "a.b", "*", "é", "a/b", strings.Repeat("a", 41)} {
		if access.CheckTenant("tenant", name) == nil {
			t.Errorf("%q is taken for a tenant's name", name)
		}
	}
}
