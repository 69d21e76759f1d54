package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt/controller/once"
)

// RunRequests tests a store of requests with idempotency keys. open returns an empty one, closed by the test's cleanup.
func RunRequests(t *testing.T, open func(t *testing.T) once.Store) {
	t.Run("the first request has the key", func(t *testing.T) { testRequests(t, open(t)) })
	t.Run("of concurrent requests one has the key", func(t *testing.T) { testConcurrentRequests(t, open(t)) })
	t.Run("requests are purged by age and number", func(t *testing.T) { testPurgeRequests(t, open(t)) })
}

// request returns the n-th request with a key.
func request(key string, n int) once.Record {
	return once.Record{Key: key, Claim: fmt.Sprint("claim", n), Hash: fmt.Sprint("hash", n), At: epoch().Add(time.Duration(n) * time.Minute)}
}

func wantHolder(t *testing.T, store once.Store, name string, asked, want once.Record) {
	t.Helper()
	there, err := store.ClaimRequest(t.Context(), asked)
	if err != nil {
		t.Fatal(name, err)
	}
	wantEqual(t, name, there, want)
}

func testRequests(t *testing.T, store once.Store) {
	first, second, third := request("key", 1), request("key", 2), request("key", 3)
	wantHolder(t, store, "a free key", first, first)
	wantHolder(t, store, "a taken key", second, first)
	if err := store.ReleaseRequest(t.Context(), second); err != nil {
		t.Error("releasing another request's key:", err)
	}
	wantHolder(t, store, "a key that another request released", second, first)
	if err := store.ReleaseRequest(t.Context(), first); err != nil {
		t.Error(err)
	}
	wantHolder(t, store, "a released key", third, third)
	answer := once.Answer{Status: 201, Type: "application/json", Location: "/a", Body: []byte("\xff\x00"), Execution: "exe_a"}
	if err := store.AnswerRequest(t.Context(), first, once.Answer{Status: 500}); err != nil {
		t.Error("answering a request that lost its key:", err)
	}
	if err := store.AnswerRequest(t.Context(), third, answer); err != nil {
		t.Fatal(err)
	}
	if err := store.ReleaseRequest(t.Context(), third); err != nil {
		t.Error(err)
	}
	answered := third
	answered.Answer = &answer
	wantHolder(t, store, "an answered request", first, answered)
	wantHolder(t, store, "another key", request("other", 1), request("other", 1))
}

func testConcurrentRequests(t *testing.T, store once.Store) {
	var (
		group sync.WaitGroup
		won   atomic.Int32
	)
	for n := range 20 {
		group.Go(func() {
			mine := request("key", n)
			there, err := store.ClaimRequest(t.Context(), mine)
			if err != nil {
				t.Error(err)
			}
			if there.Claim == mine.Claim {
				won.Add(1)
			}
		})
	}
	if group.Wait(); won.Load() != 1 {
		t.Errorf("%d requests have the key, want 1", won.Load())
	}
}

func testPurgeRequests(t *testing.T, store once.Store) {
	for n := range 6 {
		wantHolder(t, store, "a key", request(fmt.Sprint(n), n), request(fmt.Sprint(n), n))
	}
	purge := func(before time.Time, newest, limit, want int) {
		t.Helper()
		if removed, err := store.PurgeRequests(t.Context(), before, newest, limit); err != nil || removed != want {
			t.Errorf("%d requests were purged, error %v, want %d", removed, err, want)
		}
	}
	purge(epoch(), 6, 9, 0)
	purge(request("", 2).At, 6, 1, 1)
	purge(request("", 2).At, 6, 9, 1) // 2 to 5 are left
	purge(epoch(), 3, 9, 1)
	wantHolder(t, store, "a key that was too many", request("2", 9), request("2", 9))
	wantHolder(t, store, "a young key", request("3", 9), request("3", 3))
}
