package yurtclient

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net"
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

// WithPatience says for how long a call is repeated that does not reach a server, whose answer is lost, or that a server refuses because
// it is full, then at the time that the server names. The server carries out a repeated call once: each call that changes something has an
// idempotency key, and a removal that finds its object gone after a lost answer has succeeded. Calls that stream their input, append to a
// file, move something or kill a process are not repeated when their answer is lost. The default is 10 seconds; with 0 no call is repeated.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.patience = d } }

// WithoutWaiting makes calls fail at once where no server listens, as a program wants that is started by hand.
func WithoutWaiting() Option { return func(c *Client) { c.leaves = true } }

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

// lost reports whether a server may not have seen a call, or its answer got lost.
func lost(err error) bool { return yurt.CodeOf(err) == yurt.CodeUnavailable }

// refused reports whether the server did not do the work and says when to come back.
func refused(err error) bool { return RetryAfter(err) > 0 }

// absent reports whether no server listens, which has not seen the call then.
func absent(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// unanswered reports whether a server may have carried out a call whose answer got lost.
func unanswered(err error) bool { return lost(err) && !refused(err) && !absent(err) }

// removedError is the error of a repeated removal whose object is gone, after the answer to an earlier one was lost.
type removedError struct{ error }

func (e removedError) Unwrap() error { return e.error }

// removed reports whether an error says that an earlier call, whose answer was lost, had removed the object.
func removed(err error) bool {
	var earlier removedError
	return errors.As(err, &earlier)
}

// gone reports whether a call found no object that it could remove.
func gone(err error) bool {
	switch yurt.CodeOf(err) {
	case yurt.CodeNotFound, yurt.CodeFileNotFound, yurt.CodeTemplateNotFound, yurt.CodeContextNotFound, yurt.CodeSessionEnded, yurt.CodeExecutionEnded:
		return true
	default:
		return false
	}
}

type onceKey struct{}

// WithIdempotencyKey returns a context for one call that changes something. The server carries out a call with the same key once, and
// answers a repeated one as the first, for a day. A call has a key of its own by itself, which serves for the time of [WithPatience]. A key
// of the program serves for longer, such as after its next start. A key is for one call: the server refuses another call with it.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, onceKey{}, key)
}

// name gives a call that changes something its idempotency key: that of the context, or else a new one if the call can be sent again.
func (w *call) name(ctx context.Context) {
	key, _ := ctx.Value(onceKey{}).(string)
	if key == "" && w.whole() && !w.reads && !w.single {
		key = cryptorand.Text()
	}
	if key == "" || w.method != http.MethodPost || w.named() {
		return
	}
	header := http.Header{}
	maps.Copy(header, w.header)
	header.Set(headerIdempotencyKey, key)
	w.header = header
}

func (w *call) named() bool { return w.header.Get(headerIdempotencyKey) != "" }

// whole reports whether the client can send the body twice.
func (w *call) whole() bool {
	_, inMemory := w.body.(*bytes.Reader)
	return w.body == nil || inMemory
}

// again reports whether a call that ended with an error may be sent again.
func (w *call) again(c *Client, err error) bool {
	switch {
	case !w.whole():
		return false
	case absent(err):
		return !c.leaves
	case w.method == http.MethodPatch, w.method == http.MethodPost && !w.reads && !w.named():
		return false
	case w.method == http.MethodDelete && w.single:
		return refused(err)
	default:
		return lost(err) || refused(err)
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
