package yurtclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	defaultPatience = 10 * time.Second
	firstPause      = 50 * time.Millisecond // between two tries
	longestPause    = 2 * time.Second

	outageLimit  = time.Minute
	firstDelay   = 50 * time.Millisecond // between two tries to connect a stream again
	longestDelay = time.Second
)

// WithPatience says for how long a call that may be repeated tries to reach a server. [Client.Create], [Client.Connect] and
// [Client.List] are repeated when the server does not answer. So is each call without an effect of its own that a server refuses
// because it is full, at the time that the server names. The default is 10 seconds; with 0 no call is repeated.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.patience = d } }

// RetryAfter returns how long the server wants to be left alone, by an error that says that it did not do the work, or 0.
func RetryAfter(err error) time.Duration {
	var coded *yurt.Error
	if !errors.As(err, &coded) {
		return 0
	}
	return coded.RetryAfter
}

// patiently makes a call again for as long as its error may pass with time, and the patience lasts.
func patiently[T any](ctx context.Context, patience time.Duration, passes func(error) bool, call func() (T, error)) (T, error) {
	end := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		value, err := call()
		if err == nil || !passes(err) {
			return value, err
		}
		wait := max(pause, RetryAfter(err))
		wait += rand.N(wait/5 + 1) //nolint:gosec // lest all clients that were refused come back at once
		if time.Now().Add(wait).After(end) {
			return value, err
		}
		select {
		case <-ctx.Done():
			return value, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// lost reports whether a server may not have seen a call, or its answer got lost, or it was full.
func lost(err error) bool {
	code := yurt.CodeOf(err)
	return errors.Is(err, io.ErrUnexpectedEOF) || code == yurt.CodeUnavailable || code == yurt.CodeOverloaded
}

// refused reports whether the server did not do the work and says when to come back.
func refused(err error) bool { return RetryAfter(err) > 0 }

type onceKey struct{}

// WithIdempotencyKey returns a context for one call that changes something. The server carries out a call with the same key once, and
// answers a repeated one as the first, for a day. So a call whose answer was lost can be made again; one that the server refuses for now
// is repeated as [WithPatience] says. A key is for one call: the server refuses another call with it.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, onceKey{}, key)
}

// name gives the call the idempotency key of a context.
func (w *call) name(ctx context.Context) {
	key, _ := ctx.Value(onceKey{}).(string)
	if key == "" || w.method != http.MethodPost || w.header.Get(headerIdempotencyKey) != "" {
		return
	}
	header := http.Header{}
	maps.Copy(header, w.header)
	header.Set(headerIdempotencyKey, key)
	w.header = header
}

// repeatable reports whether a server may see the request twice, and the client can send it twice.
func (w *call) repeatable() bool {
	_, inMemory := w.body.(*bytes.Reader)
	if w.body != nil && !inMemory {
		return false
	}
	switch w.method {
	case http.MethodGet, http.MethodPut, http.MethodDelete:
		return true
	default:
		return w.header.Get(headerIdempotencyKey) != ""
	}
}

// rewind returns a function that makes the body of a repeatable call begin anew.
func (w *call) rewind() func() {
	body, ok := w.body.(*bytes.Reader)
	if !ok {
		return func() {}
	}
	start := body.Size() - int64(body.Len())
	return func() { _, _ = body.Seek(start, io.SeekStart) } // it cannot fail: the offset is one that the body had
}

// retryAfter reads the Retry-After header of a refusal: seconds, or a date. It returns 0 without one.
func retryAfter(resp *http.Response) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	header := resp.Header.Get("Retry-After")
	if n, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return max(0, time.Until(at))
}

// outage counts how long a stream of numbered events has no connection since its last event. Time with a connection makes up for as
// much time without.
type outage struct {
	without time.Duration
	turned  time.Time // of the last change
	delay   time.Duration
}

func newOutage() *outage { return &outage{turned: time.Now()} }

func (o *outage) lap() time.Duration {
	turned := o.turned
	o.turned = time.Now()
	return o.turned.Sub(turned)
}

func (o *outage) connected() { o.without += o.lap() }

// broke is called when the connection is lost.
func (o *outage) broke() { o.without = max(0, o.without-o.lap()) }

// over reports whether a stream without a connection gives up.
func (o *outage) over() bool { return o.without+time.Since(o.turned) > outageLimit }

// pause returns the time until the next try.
func (o *outage) pause() time.Duration {
	pause := o.delay
	o.delay = min(2*pause+firstDelay, longestDelay)
	return pause
}
