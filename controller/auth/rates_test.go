package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
)

// allowed returns how many of so many requests of an address pass.
func allowed(rates *auth.Rates, address string, tries int) (passed int) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = address
	for range tries {
		if rates.CheckAddress(r) == nil {
			passed++
		}
	}
	return passed
}

// TestEachControllerAllowsItsPart: of a limit of 10 a second, 100 requests pass at once at one controller, and 50 where two live; the
// part grows when the other is gone.
func TestEachControllerAllowsItsPart(t *testing.T) {
	live := 1
	alone := auth.NewRates(0, 10, func() int { return live })
	if n := allowed(alone, "192.0.2.1:1", 200); n < 100 || n > 103 {
		t.Errorf("%d requests pass at one controller, want 100", n)
	}
	if n := allowed(alone, "192.0.2.2:1", 50); n != 50 {
		t.Errorf("%d requests of another address pass, want 50", n)
	}
	live = 2
	shared := auth.NewRates(0, 10, func() int { return live })
	if n := allowed(shared, "192.0.2.1:1", 200); n < 50 || n > 52 {
		t.Errorf("%d requests pass at one of two controllers, want 50", n)
	}
	live = 1
	time.Sleep(500 * time.Millisecond)
	allowed(shared, "192.0.2.1:1", 100) // which takes over the larger part
	time.Sleep(time.Second)
	if n := allowed(shared, "192.0.2.1:1", 100); n < 9 || n > 20 {
		t.Errorf("%d requests pass a second after the other controller left, want 10", n)
	}
}

// TestLimitsChange: a new limit holds for addresses that are known, and for none when it is 0.
func TestLimitsChange(t *testing.T) {
	rates := auth.NewRates(0, 10, func() int { return 1 })
	allowed(rates, "192.0.2.1:1", 200)
	rates.LimitAddresses(0)
	if n := allowed(rates, "192.0.2.1:1", 200); n != 200 {
		t.Errorf("%d requests pass without a limit, want 200", n)
	}
	rates.LimitAddresses(1)
	if n := allowed(rates, "192.0.2.1:1", 200); n > 10 {
		t.Errorf("%d requests pass with a limit of 1 a second, want 10 at most", n)
	}
	rates.LimitKeys(1)
	ctx, done := access.With(t.Context(), &access.Principal{Tenant: "acme", KeyID: "key_a"})
	defer done()
	var err error
	for range 11 {
		err = rates.CheckKey(ctx)
	}
	if yurt.CodeOf(err) != yurt.CodeOverloaded {
		t.Errorf("the eleventh request of a key at the new limit: %v", err)
	}
}

func TestRatesOfKeys(t *testing.T) {
	rates := auth.NewRates(1, 0, func() int { return 1 })
	ctx, done := access.With(t.Context(), &access.Principal{Tenant: "acme", KeyID: "key_a"})
	defer done()
	var err error
	for range 11 {
		err = rates.CheckKey(ctx)
	}
	if yurt.CodeOf(err) != yurt.CodeOverloaded || err.(*yurt.Error).RetryAfter < time.Second { //nolint:errorlint // it is the error itself
		t.Errorf("the eleventh request in a moment: %v", err)
	}
	if want := "this API key or token exceeds the rate limit of 1 requests a second; wait a moment"; err.Error() != want {
		t.Errorf("the refusal is %v, want %s", err, want)
	}
	other, doneToo := access.With(t.Context(), &access.Principal{Tenant: "acme", KeyID: "key_b"})
	defer doneToo()
	var unbounded *auth.Rates
	if err := rates.CheckKey(other); err != nil || unbounded.CheckKey(ctx) != nil || rates.CheckKey(t.Context()) != nil {
		t.Errorf("another key: %v", err)
	}
	if n := allowed(rates, "192.0.2.1:1", 1000); n != 1000 {
		t.Errorf("%d requests pass where addresses have no bound", n)
	}
}
