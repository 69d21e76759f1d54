package yurtclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/internal/tracing"
)

const (
	apiPrefix   = "/api/v1"
	typeJSON    = "application/json"
	typeHCL     = "application/hcl"
	maxProblem  = 1 << 20 // bytes of an error body that are read
	problemType = "application/problem+json"

	headerIdempotencyKey = "Idempotency-Key"
)

// Client calls one controller. Make it with [New].
type Client struct {
	base     *url.URL
	http     *http.Client
	key      access.Secret
	patience time.Duration
	leaves   bool // it does not wait for a server, see [WithoutWaiting]
}

// Option changes how a [Client] is made.
type Option func(*Client)

// WithHTTPClient makes the client use hc, for its transport. hc must have no
// Timeout, or long executions fail.
func WithHTTPClient(hc *http.Client) Option { return func(c *Client) { c.http = hc } }

// New returns a client of the controller at baseURL, such as
// "http://127.0.0.1:8700". It does not connect.
func New(baseURL string, options ...Option) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "url", "%q is not the address of a controller; give one such as http://127.0.0.1:8700", baseURL)
	}
	c := &Client{base: base, http: &http.Client{}, patience: defaultPatience}
	for _, option := range options {
		option(c)
	}
	if err := checkKey(c.key); err != nil {
		return nil, err
	}
	return c, nil
}

// call is one request: its address and its body.
type call struct {
	method string
	path   string // escaped, below the base URL
	query  url.Values
	header http.Header
	body   io.Reader
	reads  bool // a POST that changes nothing
	single bool // a POST that gets no key of its own, or a DELETE that is not repeated when its answer is lost
}

// send makes the request and returns the response when its status is a success;
// the caller closes the body. Everything else is an error. It makes the request again as [WithPatience] says.
func (c *Client) send(ctx context.Context, what call) (*http.Response, error) {
	return deliver(ctx, c, what, func(resp *http.Response) (*http.Response, error) { return resp, nil })
}

// deliver is [Client.send] for an answer that take reads. A request whose answer breaks off is made again too.
func deliver[T any](ctx context.Context, c *Client, what call, take func(*http.Response) (T, error)) (T, error) {
	what.name(ctx)
	rewind := what.rewind()
	mayBeDone := false // by an earlier request whose answer was lost
	value, err := patiently(ctx, c.patience, func(err error) bool {
		mayBeDone = mayBeDone || unanswered(err)
		return what.again(c, err)
	}, func() (T, error) {
		rewind()
		resp, err := what.once(ctx, c)
		if err != nil {
			return *new(T), err
		}
		return take(resp)
	})
	if what.method == http.MethodDelete && mayBeDone && gone(err) {
		err = removedError{err}
	}
	return value, err
}

// once is [Client.send] for a request that is not sent again.
func (w *call) once(ctx context.Context, c *Client) (*http.Response, error) {
	target := c.base.String() + w.path
	if len(w.query) > 0 {
		target += "?" + w.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, w.method, target, w.body)
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	req.Header = authorization(c.key)
	for name, values := range w.header {
		req.Header[name] = values
	}
	tracing.Inject(ctx, req.Header.Set)
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, yurt.Errorf(yurt.CodeUnavailable, "no controller answers at %s (%w); start one with \"yurt dev\"", c.base.Redacted(), rootCause(err))
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, readProblem(resp)
	}
	return resp, nil
}

// rootCause drops the "Get "http://…":" in front of the cause.
func rootCause(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return urlErr.Err
	}
	return err
}

// roundTrip sends the request and decodes the JSON answer into out, which may be nil.
func (c *Client) roundTrip(ctx context.Context, what call, out any) error {
	text, err := deliver(ctx, c, what, func(resp *http.Response) ([]byte, error) {
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, yurt.Errorf(yurt.CodeUnavailable, "the controller's answer broke off: %w", err)
		}
		return text, nil
	})
	if out == nil && removed(err) {
		return nil
	}
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("reading the controller's answer: %w", err)
	}
	return nil
}

func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.roundTrip(ctx, call{method: http.MethodGet, path: path, query: query}, out)
}

// postJSON returns a call that sends v as JSON.
func postJSON(path string, v any) (call, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return call{}, fmt.Errorf("encoding the request: %w", err)
	}
	if err := checkText(v); err != nil {
		return call{}, err
	}
	return call{method: http.MethodPost, path: path, header: http.Header{"Content-Type": {typeJSON}}, body: bytes.NewReader(data)}, nil
}

// problem is the part of an application/problem+json body that an error needs.
type problem struct {
	Code   yurt.Code `json:"code"`
	Detail string    `json:"detail"`
	Title  string    `json:"title"`
	Field  string    `json:"field"`
	ID     requestID `json:"request_id"`

	Quota *yurt.QuotaUse `json:"quota"`
}

// readProblem turns an error response into a [yurt.Error]. A response that is no problem of Yurt's,
// such as a proxy's page, becomes [yurt.CodeUnavailable] or [yurt.CodeInternal] by its status.
func readProblem(resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return yurt.Errorf(yurt.CodeUnavailable, "the controller's answer broke off: %w", err)
	}
	var p problem
	mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if mediaType == problemType && json.Unmarshal(data, &p) == nil && p.Code != "" {
		coded := p.asError()
		coded.RetryAfter, coded.ETag = retryAfter(resp), resp.Header.Get("ETag")
		return coded
	}
	code := yurt.CodeInternal
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		code = yurt.CodeUnavailable
	}
	coded := yurt.Errorf(code, "the server answered %s, which is not an answer of Yurt; check the address", resp.Status)
	coded.RetryAfter = retryAfter(resp)
	return coded
}

func (p problem) asError() *yurt.Error {
	err := yurt.FieldErrorf(p.Code, p.Field, "%s%w", cmp.Or(p.Detail, p.Title), p.ID)
	err.Quota = p.Quota
	return err
}

// segment escapes one segment of a path.
func segment(s string) string { return url.PathEscape(s) }

// Ready returns nil when the controller can serve, and why not otherwise. It does not wait for that.
func (c *Client) Ready(ctx context.Context) error {
	_, err := Readiness(ctx, c)
	return err
}

// Status is the state of a controller that can serve.
type Status struct {
	Status   string   `json:"status"`
	Warnings []string `json:"warnings"` // of that which is not as it should be, although it can serve
}

// Readiness is [Client.Ready] with the controller's own words.
func Readiness(ctx context.Context, client *Client) (Status, error) {
	return says(ctx, client, "/ready")
}

// Health returns nil when the process of the client's controller answers, which may not be able to serve yet: see [Client.Ready].
func Health(ctx context.Context, client *Client) error {
	_, err := says(ctx, client, "/health")
	return err
}

// says asks for the state of the controller, once.
func says(ctx context.Context, c *Client, path string) (Status, error) {
	asked := call{method: http.MethodGet, path: path}
	resp, err := asked.once(ctx, c)
	if err != nil {
		return Status{}, err
	}
	defer resp.Body.Close()
	var status Status
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		return Status{}, fmt.Errorf("reading the controller's state: %w", err)
	}
	return status, nil
}

// Version is the controller's description of its build.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go,omitempty"`
}

// Version returns the version of the controller.
func (c *Client) Version(ctx context.Context) (Version, error) {
	var v Version
	err := c.get(ctx, "/version", nil, &v)
	return v, err
}

// RuntimeFilter narrows a list of runtimes. An empty field does not filter.
type RuntimeFilter struct{ Language string }

func (f RuntimeFilter) query() url.Values { return queryOf(map[string]string{"language": f.Language}) }

// Runtimes lists the installed language runtimes that match.
func (c *Client) Runtimes(ctx context.Context, filter ...RuntimeFilter) ([]yurt.RuntimeInfo, error) {
	return whole[yurt.RuntimeInfo](ctx, c, apiPrefix+"/runtimes", "runtimes", queryOfAll(filter), 0)
}
