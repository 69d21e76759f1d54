package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
)

// RunKeys tests a store of API keys. open returns an empty one, closed by the test's cleanup.
func RunKeys(t *testing.T, open func(t *testing.T) auth.Store) {
	tests := []struct {
		name string
		test func(t *testing.T, store auth.Store)
	}{
		{"keys come back as they went in", testKey},
		{"a tenant reaches its keys alone", testKeyReach},
		{"the first revocation stays", testRevocation},
		{"use is noted forward", testKeyUse},
		{"old keys are purged", testKeyPurge},
		{"a tenant has a bounded number of keys", testMostKeys},
		{"tokens live with their session and their parent", testTokens},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.test(t, open(t)) })
	}
}

// apiKey returns the n-th key of a tenant: a second younger than the one before.
func apiKey(tenant string, n int) (access.Key, access.Hash) {
	key := access.Key{
		ID: fmt.Sprintf("%s%s%03d", access.KeyIDPrefix, tenant, n), Tenant: tenant, Name: "ünï ✓",
		Scopes: []access.Scope{access.Files, access.SessionsRead}, CreatedAt: epoch().Add(time.Duration(n) * time.Second),
	}
	hash, _ := access.HashKey(access.GenerateKey().Reveal())
	return key, hash
}

func mustAddKey(t *testing.T, store auth.Store, tenant string, n int, changes ...func(*access.Key)) (access.Key, access.Hash) {
	t.Helper()
	key, hash := apiKey(tenant, n)
	for _, change := range changes {
		change(&key)
	}
	if err := store.AddKey(t.Context(), key, hash, access.MaxKeys); err != nil {
		t.Fatal("adding a key:", err)
	}
	return key, hash
}

func keysOf(t *testing.T, store auth.Store, reach auth.Reach) (ids []string) {
	t.Helper()
	list, err := store.Keys(t.Context(), reach, contract.Position{}, 0)
	if err != nil {
		t.Fatal("listing keys:", err)
	}
	for _, key := range list {
		ids = append(ids, key.ID)
	}
	return ids
}

func testKey(t *testing.T, store auth.Store) {
	expires := epoch().Add(time.Hour)
	whole, hash := mustAddKey(t, store, "a", 1, func(k *access.Key) { k.ExpiresAt = &expires })
	plain, other := mustAddKey(t, store, "a", 2)
	_, missing := apiKey("a", 3)
	found, err := store.KeysByHash(t.Context(), []access.Hash{hash, missing, other})
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "keys by hash", found, map[access.Hash]access.Key{hash: whole, other: plain})
	page, err := store.Keys(t.Context(), auth.Tenant("a"), contract.Position{CreatedAt: plain.CreatedAt, ID: plain.ID}, 5)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "the page after the newest", page, []access.Key{whole})
}

func testKeyReach(t *testing.T, store auth.Store) {
	mine, _ := mustAddKey(t, store, "a", 1)
	theirs, _ := mustAddKey(t, store, "b", 2)
	wantEqual(t, "keys of a tenant", keysOf(t, store, auth.Tenant("a")), []string{mine.ID})
	wantEqual(t, "keys of all", keysOf(t, store, auth.Everywhere()), []string{theirs.ID, mine.ID})
	wantEqual(t, "keys of no tenant", keysOf(t, store, auth.Reach{}), nil)
	for _, reach := range []auth.Reach{auth.Tenant("a"), {}} {
		_, err := store.RevokeKey(t.Context(), reach, theirs.ID, epoch())
		wantCode(t, err, yurt.CodeKeyNotFound)
	}
	if _, err := store.RevokeKey(t.Context(), auth.Everywhere(), theirs.ID, epoch()); err != nil {
		t.Error("the operator revokes a key:", err)
	}
}

func testRevocation(t *testing.T, store auth.Store) {
	key, hash := mustAddKey(t, store, "a", 1)
	first := epoch().Add(time.Hour)
	for _, at := range []time.Time{first, first.Add(time.Hour)} {
		revoked, err := store.RevokeKey(t.Context(), auth.Tenant("a"), key.ID, at)
		if err != nil {
			t.Fatal(err)
		}
		key.RevokedAt = &first
		wantEqual(t, "revoked key", revoked, key)
	}
	found, err := store.KeysByHash(t.Context(), []access.Hash{hash})
	if err != nil || found[hash].RevokedAt == nil {
		t.Errorf("the key is %+v, error %v, want it revoked", found[hash], err)
	}
}

func testKeyUse(t *testing.T, store auth.Store) {
	key, hash := mustAddKey(t, store, "a", 1)
	late := epoch().Add(time.Hour)
	for _, at := range []time.Time{epoch(), late, epoch()} {
		if err := store.UseKeys(t.Context(), map[string]time.Time{key.ID: at, "key_missing": at}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := store.KeysByHash(t.Context(), []access.Hash{hash})
	if err != nil {
		t.Fatal(err)
	}
	key.UsedAt = &late
	wantEqual(t, "used key", found[hash], key)
}

func testKeyPurge(t *testing.T, store auth.Store) {
	at := epoch().Add(time.Hour)
	mustAddKey(t, store, "a", 1, func(k *access.Key) { k.ExpiresAt = &at })
	mustAddKey(t, store, "a", 2, func(k *access.Key) { k.RevokedAt = &at })
	kept, _ := mustAddKey(t, store, "a", 3)
	for _, test := range []struct {
		before time.Time
		want   int
	}{{at, 3}, {at.Add(1), 1}} {
		if err := store.PurgeKeys(t.Context(), test.before); err != nil {
			t.Fatal(err)
		}
		if got := keysOf(t, store, auth.Tenant("a")); len(got) != test.want || got[0] != kept.ID {
			t.Errorf("after a purge of what ended before %s there are %q, want %d", test.before, got, test.want)
		}
	}
}

// testMostKeys adds keys at the same time: counting them and adding one is one step.
func testMostKeys(t *testing.T, store auth.Store) {
	const most, tries = 3, 12
	mustAddKey(t, store, "b", 0)
	mustAddKey(t, store, "a", 100, func(k *access.Key) { k.RevokedAt = &k.CreatedAt })
	var added atomic.Int64
	var group sync.WaitGroup
	for n := range tries {
		group.Go(func() {
			key, hash := apiKey("a", n)
			err := store.AddKey(context.WithoutCancel(t.Context()), key, hash, most)
			if err == nil {
				added.Add(1)
			} else if yurt.CodeOf(err) != yurt.CodeOverloaded {
				t.Error("adding a key:", err)
			}
		})
	}
	group.Wait()
	if added.Load() != most {
		t.Errorf("%d keys were added, want %d", added.Load(), most)
	}
}

// testTokens needs a store that keeps sessions too.
func testTokens(t *testing.T, store auth.Store) {
	sessions, ok := store.(interface {
		contract.SessionStore
	})
	if !ok {
		t.Fatal("the store of keys keeps no sessions")
	}
	for n := range 2 {
		live := session(n)
		live.Tenant = "a"
		if err := sessions.CreateSession(t.Context(), live, yurt.Transition{To: live.State, At: live.CreatedAt}, nil); err != nil {
			t.Fatal(err)
		}
	}
	parent, _ := mustAddKey(t, store, "a", 1)
	expires := epoch().Add(time.Hour)
	token := func(n, of int, parentID string) (access.Key, access.Hash) {
		return mustAddKey(t, store, "a", n, func(k *access.Key) { k.SessionID, k.ParentID, k.ExpiresAt = session(of).ID, parentID, &expires })
	}
	first, firstHash := token(2, 0, parent.ID)
	second, secondHash := token(3, 1, "")
	found := func(want map[access.Hash]access.Key) {
		t.Helper()
		got, err := store.KeysByHash(t.Context(), []access.Hash{firstHash, secondHash})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "the tokens", got, want)
	}
	found(map[access.Hash]access.Key{firstHash: first, secondHash: second})
	wantEqual(t, "the list of keys", keysOf(t, store, auth.Tenant("a")), []string{parent.ID})
	if _, err := store.RevokeKey(t.Context(), auth.Tenant("a"), parent.ID, epoch()); err != nil {
		t.Fatal(err)
	}
	found(map[access.Hash]access.Key{secondHash: second})
	more, hash := apiKey("a", 4)
	more.SessionID = session(1).ID
	wantCode(t, store.AddKey(t.Context(), more, hash, 1), yurt.CodeOverloaded)
	if _, err := sessions.ChangeSession(t.Context(), session(1).ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		change, err := s.Transition(yurt.SessionTerminated, "over", s.CreatedAt)
		return []yurt.Transition{change}, err
	}); err != nil {
		t.Fatal(err)
	}
	found(map[access.Hash]access.Key{})
}
