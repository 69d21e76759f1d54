package announce

import (
	"io"
	"net/http"
)

// The most bytes that are read of an answer: of one to be decoded, and of an error's text, which is logged.
const (
	maxAnswer = 1 << 20
	maxReason = 1 << 10
)

// bounded cuts answers off that are too long, so that they do not decode.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limit := int64(maxAnswer)
	if response.StatusCode != http.StatusOK {
		limit = maxReason
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, limit), response.Body}
	return response, nil
}

// stay refuses redirections: Consul does not redirect, and the token is for Consul alone.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
