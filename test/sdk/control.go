package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/testutil"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// Faults is a server behind a proxy that breaks connections when a scenario asks for it.
type Faults struct {
	URL     string // for the SDK
	Control string // for control steps
	Calls   Calls

	t      testing.TB
	begin  func() (*devserver.Server, error)
	target atomic.Pointer[url.URL] // of the server, in its last life

	mu     sync.Mutex
	server *devserver.Server
	err    error // of a restart
	after  int   // events after which streams are cut; 0: never
	drop   int   // answers that are still to be dropped
	refuse refusal
	lose   loss
	report report
	work   sync.WaitGroup
}

// refusal is the answer to the next requests.
type refusal struct {
	count      int
	status     int
	retryAfter string
}

// loss says which answers to requests with an idempotency key are lost after these were carried out: those to the first request with each
// of the next keys.
type loss struct {
	count  int
	status int // of a proxy's answer in place of the server's; 0: the connection breaks
	keys   map[string]bool
}

type report struct {
	Cuts  int `json:"cuts"`
	Drops int `json:"drops"`
	Kills int `json:"kills"`

	Refusals int `json:"refusals"`
	Losses   int `json:"losses"`
}

// NewFaults starts "yurt dev" of the program behind a proxy, for as long as the test. In the end no sandbox of it is left,
// however the runner and the server ended.
func NewFaults(t testing.TB, program string) *Faults {
	t.Helper()
	state, listen := t.TempDir(), "127.0.0.1:0"
	f := newFaults(t, func() (*devserver.Server, error) {
		server, err := devserver.Start(context.WithoutCancel(t.Context()), program, state, listen)
		if err == nil {
			listen = strings.TrimPrefix(server.URL, "http://")
		}
		return server, err
	})
	t.Cleanup(func() {
		if !f.server.Running() { // a kill came last
			f.start()
		}
		if err := errors.Join(endSandboxes(f.server.URL), f.server.Stop()); err != nil {
			t.Error(err)
		}
		testutil.CheckNothingLeft(t, state)
	})
	f.serve()
	return f
}

// endSandboxes ends the sandboxes of a server that a runner has left.
func endSandboxes(url string) error {
	client, err := yurtclient.New(url)
	if err != nil {
		return err
	}
	for session, err := range client.List(context.Background(), yurtclient.SessionFilter{}) {
		if err == nil {
			_, err = client.EndSession(context.Background(), session.ID)
		}
		if code := yurt.CodeOf(err); err != nil && code != yurt.CodeSessionEnded {
			return fmt.Errorf("ending a sandbox that is left: %w", err)
		}
	}
	return nil
}

// NewClusterFaults is NewFaults for a controller of a cluster, which ends it.
func NewClusterFaults(t testing.TB) *Faults {
	t.Helper()
	cluster := yurtcluster.Test(t, yurtcluster.Options{})
	begun := false
	f := newFaults(t, func() (*devserver.Server, error) {
		if !begun {
			begun = true
			return cluster.Controllers[0], nil
		}
		return cluster.RestartController(context.WithoutCancel(t.Context()), 1)
	})
	f.serve()
	return f
}

func newFaults(t testing.TB, begin func() (*devserver.Server, error)) *Faults {
	t.Helper()
	f := &Faults{t: t, begin: begin}
	f.start()
	if f.err != nil {
		t.Fatal(f.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", f.server.LogTail())
		}
	})
	return f
}

// serve starts the proxy and its control, until the test ends.
func (f *Faults) serve() {
	proxy := httptest.NewServer(f.proxy())
	control := httptest.NewServer(http.HandlerFunc(f.control))
	f.URL, f.Control = proxy.URL, control.URL
	f.t.Cleanup(func() {
		control.Close()
		proxy.CloseClientConnections()
		proxy.Close()
		f.work.Wait()
		if f.err != nil {
			f.t.Error(f.err)
		}
	})
}

// start starts the server; f.mu is held, or no other goroutine knows f yet.
func (f *Faults) start() {
	server, err := f.begin()
	if err != nil {
		f.err = errors.Join(f.err, err)
		return
	}
	target, err := url.Parse(server.URL)
	f.err = errors.Join(f.err, err)
	f.target.Store(target)
	f.server = server
}

var errCut = errors.New("cut on request")

// proxy passes requests on that it does not refuse.
func (f *Faults) proxy() http.Handler {
	passing := f.passing()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if told, refused := f.refused(); refused {
			told.answer(w)
			return
		}
		passing.ServeHTTP(w, r)
	})
}

// refused reports whether the next request is to be refused.
func (f *Faults) refused() (refusal, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse.count <= 0 {
		return refusal{}, false
	}
	f.refuse.count--
	f.report.Refusals++
	return f.refuse, true
}

// answer refuses a request as the server does when it is full.
func (r refusal) answer(w http.ResponseWriter) {
	code := yurt.CodeOverloaded
	if r.status == http.StatusServiceUnavailable {
		code = yurt.CodeUnavailable
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", r.retryAfter)
	w.WriteHeader(r.status)
	fmt.Fprintf(w, `{"type": "urn:yurt:error:%s", "title": "Refused", "status": %d, "detail": "refused on request", "code": %q}`, code, r.status, code)
}

func (f *Faults) passing() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(f.target.Load())
			r.Out.Host = r.In.Host
			r.Out.Body = whole(r.In)
		},
		ModifyResponse: f.spoil,
		// A client sees a connection that breaks, as it would without the proxy.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0), // of each cut
	}
}

// whole returns the body of a request, read as a whole if it is short. Go's server closes a body when an answer begins, and Go's client
// looks for more of it until then, so that an answer that comes at once would break off now and then.
func whole(r *http.Request) io.ReadCloser {
	if r.ContentLength <= 0 || r.ContentLength > 1<<20 {
		return r.Body
	}
	data, _ := io.ReadAll(r.Body) // a part is refused, being shorter than its length
	return io.NopCloser(bytes.NewReader(data))
}

// spoil breaks an answer off if that was asked for.
func (f *Faults) spoil(resp *http.Response) error {
	f.Calls.note(resp)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.drop > 0 && resp.Request.Method != http.MethodGet {
		f.drop--
		f.report.Drops++
		return errCut
	}
	if key := resp.Request.Header.Get("Idempotency-Key"); key != "" && f.lose.count > 0 && !f.lose.keys[key] {
		finish(resp)
		f.lose.keys[key] = true
		f.lose.count--
		f.report.Losses++
		return f.lose.answer(resp)
	}
	if f.after > 0 && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &cutter{ReadCloser: resp.Body, left: f.after, cut: func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.report.Cuts++
		}}
	}
	return nil
}

// finish waits until a request has been carried out whose events say how far it is. The server does not go on with it when its client
// leaves. An execution, which has a location, goes on.
func finish(resp *http.Response) {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && resp.Header.Get("Location") == "" {
		_, _ = io.Copy(io.Discard, resp.Body) // its answer is lost in any case
	}
}

// answer puts a proxy's answer in place of the server's.
func (l *loss) answer(resp *http.Response) error {
	if l.status == 0 {
		return errCut
	}
	err := resp.Body.Close()
	const page = "the server did not answer in time"
	resp.StatusCode, resp.Status, resp.ContentLength = l.status, "", int64(len(page))
	resp.Header = http.Header{"Content-Type": {"text/plain"}}
	resp.Body = io.NopCloser(strings.NewReader(page))
	return err
}

// cutter ends a stream of events after so many of them.
type cutter struct {
	io.ReadCloser
	left int
	cut  func()
}

func (c *cutter) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.cut()
		return 0, errCut
	}
	n, err := c.ReadCloser.Read(p)
	for from := 0; ; {
		end := bytes.Index(p[from:n], []byte("\n\n"))
		if end < 0 {
			return n, err
		}
		from += end + 2
		if c.left--; c.left <= 0 {
			return from, nil
		}
	}
}

// action is the body of a control step.
type action struct {
	Action      string  `json:"action"`
	AfterEvents int     `json:"after_events"`
	Count       int     `json:"count"`
	After       float64 `json:"after_seconds"`
	BackAfter   float64 `json:"back_after_seconds"`
	Status      int     `json:"status"`
	RetryAfter  string  `json:"retry_after"`
}

func (f *Faults) control(w http.ResponseWriter, r *http.Request) {
	var a action
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch a.Action {
	case "cut_streams":
		f.after = a.AfterEvents
	case "drop_answers":
		f.drop = a.Count
	case "refuse_requests":
		f.refuse = refusal{count: a.Count, status: a.Status, retryAfter: a.RetryAfter}
	case "lose_answers":
		f.lose = loss{count: a.Count, status: a.Status, keys: make(map[string]bool)}
	case "kill_server":
		f.schedule(a)
	case "report":
	default:
		http.Error(w, fmt.Sprintf("%q is no action", a.Action), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(f.report); err != nil {
		f.t.Logf("answering a control step: %v", err)
	}
}

// schedule kills the server, now or later, and starts it again. f.mu is held.
func (f *Faults) schedule(a action) {
	if a.After == 0 {
		f.kill()
	}
	f.work.Go(func() {
		if a.After > 0 {
			time.Sleep(seconds(a.After))
			f.mu.Lock()
			f.kill()
			f.mu.Unlock()
		}
		time.Sleep(seconds(a.BackAfter))
		f.mu.Lock()
		defer f.mu.Unlock()
		f.start()
	})
}

// kill kills the server; f.mu is held.
func (f *Faults) kill() {
	f.report.Kills++
	f.err = errors.Join(f.err, f.server.Kill())
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
