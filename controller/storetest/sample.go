package storetest

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/meter"
)

// RunSamples tests a store of samples of use. open returns an empty one, closed by the test's cleanup.
func RunSamples(t *testing.T, open func(t *testing.T) meter.Store) {
	t.Run("samples come back as they went in", func(t *testing.T) { testSamples(t, open(t)) })
	t.Run("samples are purged by age", func(t *testing.T) { testPurgeSamples(t, open(t)) })
}

// sample returns the n-th sample of a session, or of its tenant.
func sample(tenant, sessionID string, n int) meter.Sample {
	return meter.Sample{
		Tenant: tenant, SessionID: sessionID, CPUSeconds: float64(n) / 2,
		UsageSample: access.UsageSample{At: epoch().Add(time.Duration(n) * time.Minute), Sessions: n, CPU: 0.25, Memory: 1 << 40, Disk: 7},
	}
}

func wantSamples(t *testing.T, store meter.Store, name, tenant, sessionID string, since time.Time, want ...meter.Sample) {
	t.Helper()
	found, err := store.Samples(t.Context(), tenant, sessionID, since)
	if err != nil {
		t.Fatal(name, err)
	}
	wantEqual(t, name, found, want)
}

func testSamples(t *testing.T, store meter.Store) {
	tenant, first, second, other := sample("a", "", 1), sample("a", "ses_a", 1), sample("a", "ses_a", 2), sample("b", "", 1)
	changed := second
	changed.Memory = 1
	for _, batch := range [][]meter.Sample{{second, tenant, other}, {first}, {changed}} {
		if err := store.AddSamples(t.Context(), batch); err != nil {
			t.Fatal("adding samples:", err)
		}
	}
	wantSamples(t, store, "a session's, of which one was added twice", "a", "ses_a", time.Time{}, first, second)
	wantSamples(t, store, "since", "a", "ses_a", second.At, second)
	wantSamples(t, store, "a tenant's", "a", "", time.Time{}, tenant)
	wantSamples(t, store, "another tenant's session", "b", "ses_a", time.Time{})
}

func testPurgeSamples(t *testing.T, store meter.Store) {
	first, second, third := sample("a", "", 1), sample("a", "ses_a", 2), sample("a", "", 3)
	if err := store.AddSamples(t.Context(), []meter.Sample{third, second, first}); err != nil {
		t.Fatal("adding samples:", err)
	}
	for _, want := range []int{1, 1, 0} {
		if removed, err := store.PurgeSamples(t.Context(), third.At, 1); err != nil || removed != want {
			t.Errorf("%d samples were purged, error %v, want %d", removed, err, want)
		}
	}
	wantSamples(t, store, "the young one", "a", "", time.Time{}, third)
	wantSamples(t, store, "the old one of a session", "a", "ses_a", time.Time{})
}
