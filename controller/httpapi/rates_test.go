package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/httpapi"
)

// TestRateOfAnAddress: beyond its rate an address is told when to come again.
func TestRateOfAnAddress(t *testing.T) {
	s := newServer(t, func(c *httpapi.Config) { c.Rates = auth.NewRates(0, 0.5, func() int { return 1 }) })
	for n := range 6 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		refused := resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "2"
		if n < 4 && refused || n == 5 && !refused { // the fifth depends on how newServer waits
			t.Errorf("request %d: %s with Retry-After %q", n+1, resp.Status, resp.Header.Get("Retry-After"))
		}
	}
}
