package oidc

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/time/rate"
)

const (
	fetchLimit    = 5 * time.Second // for one answer of the issuer
	maxFetchBytes = 256 << 10       // of one answer
	fetchPause    = 2 * time.Second // between two questions of a client, after a few at once
	fetchBurst    = 3
)

// errTooSoon says that the issuer was asked a moment ago, so that tokens with keys that do not exist cause no flood of questions.
var errTooSoon = errors.New("the issuer was asked a moment ago")

// newClient returns a client that asks the issuer. The questions of each client are bounded apart, so that tokens which name keys
// that do not exist keep no fresh keys away.
func newClient(next *http.Transport) *http.Client {
	return &http.Client{
		Timeout:       fetchLimit,
		Transport:     &fetcher{next: next, limit: rate.NewLimiter(rate.Every(fetchPause), fetchBurst)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// fetcher bounds the questions to the issuer and the size of its answers.
type fetcher struct {
	next  *http.Transport
	limit *rate.Limiter
}

// RoundTrip implements http.RoundTripper.
func (f *fetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkURL(r.URL); err != nil {
		return nil, err
	}
	if !f.limit.Allow() {
		return nil, errTooSoon
	}
	answer, err := f.next.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("asking the issuer: %w", err)
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, maxFetchBytes)
	return answer, nil
}

// checkURL refuses addresses at which others on the way could give keys of their own.
func checkURL(at *url.URL) error {
	if at.Scheme == "https" && at.Host != "" || at.Scheme == "http" && loopback(at.Hostname()) {
		return nil
	}
	return fmt.Errorf("%q is no URL with https", at.Redacted())
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
