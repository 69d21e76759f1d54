package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/announce"
)

const (
	noAddress = "registry.test/?"
	answers   = 3 // that are waited for
)

// idle is a node whose capacity never changes.
type idle struct{}

func (idle) WatchCapacity(ctx context.Context, each func(yurt.Capacity) error) error {
	if err := each(yurt.Capacity{Sandboxes: 7}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// impostor stands in the place of Consul's agent, and gives the test's answers, until it relents.
type impostor struct {
	answer   http.HandlerFunc
	relented atomic.Bool
	taken    atomic.Int64  // bytes of one answer at the most
	believed atomic.Bool   // the address that it gave, which is false
	answered chan struct{} // holds one for each of the first answers
	told     chan string   // the announcement, once it relented
}

func (i *impostor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if !i.relented.Load() {
		defer func() {
			select {
			case i.answered <- struct{}{}:
			default:
			}
		}()
		if strings.Contains(string(body), noAddress) {
			i.believed.Store(true)
		}
		i.answer(&counting{ResponseWriter: w, most: &i.taken}, r)
		return
	}
	switch {
	case r.URL.Path == "/v1/agent/self":
		fmt.Fprint(w, `{"Member":{"Addr":"192.0.2.1"}}`)
	case r.URL.Path == "/v1/session/create":
		fmt.Fprint(w, `{"ID":"s"}`)
	case r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/v1/kv/"):
		fmt.Fprint(w, "true")
		select {
		case i.told <- string(body):
		default:
		}
	default:
		fmt.Fprint(w, "[]")
	}
}

// counting notes how much of an answer was taken from it.
type counting struct {
	http.ResponseWriter

	written int64
	most    *atomic.Int64
}

func (c *counting) Write(data []byte) (int, error) {
	n, err := c.ResponseWriter.Write(data)
	c.written += int64(n)
	c.most.Store(max(c.written, c.most.Load()))
	return n, err
}

// forever says the text again and again, as long as somebody listens.
func forever(w io.Writer, text string) {
	chunk := []byte(strings.Repeat(text, 1+(64<<10)/len(text)))
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// mostAllocated is the memory that one attack may cost, all in all, in bytes.
const mostAllocated = 128 << 20

// mostTaken bounds the bytes in flight of an answer that is not read to its end: those that the
// announcer reads, and those that sockets and their buffers hold.
const mostTaken = 32 << 20

// TestAnnouncer attacks the part of the executor that announces its node, from where Consul's agent
// should be: a process that answers there is root's on the node's loopback, or runs on a machine in
// between. The attack must fail, since the announcer reads a bounded part of an answer, uses only
// the names of sessions and this machine's address in it, follows no redirect, and the node works
// on without it.
func TestAnnouncer(t *testing.T) {
	address, reached := victim(t)
	var bomb bytes.Buffer
	packer := gzip.NewWriter(&bomb)
	_, err := packer.Write(append([]byte(`{"ID":"`), bytes.Repeat([]byte("x"), 256<<20)...))
	if err := errors.Join(err, packer.Close()); err != nil {
		t.Fatal(err)
	}
	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
	}
	for name, answer := range map[string]http.HandlerFunc{
		"an answer without end": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"ID":"`)
			forever(w, "x")
		},
		"lists in lists without end": func(w http.ResponseWriter, _ *http.Request) { forever(w, "[") },
		"a reason without end": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			forever(w, "because ")
		},
		"a little that unpacks to much": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		},
		"a way elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+address+"/", http.StatusTemporaryRedirect)
		},
		"nobody":               say("null"),
		"nobodies":             say("[null, null]"),
		"numbers":              say(`[{"ID":7,"Session":8}]`),
		"a session elsewhere":  say(`{"ID":"../../../v1/agent/leave?x=","Member":{"Addr":"192.0.2.1"}}`),
		"an address elsewhere": say(`{"Member":{"Addr":"` + noAddress + `"},"ID":"s"}`),
		"lines of the log":     say("\n" + `level=ERROR msg="all is lost"` + "\n\x1b[2J\x00"),
		"half an answer": func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			log := attackAnnouncer(t, answer)
			if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > mostAllocated {
				t.Errorf("it cost %d MiB", (after.TotalAlloc-before.TotalAlloc)>>20)
			}
			if len(log) > 64<<10 || strings.Contains(log, "\nlevel=ERROR") || strings.ContainsAny(log, "\x1b\x00") {
				t.Errorf("its log has %d bytes: %.500q", len(log), log)
			}
			if strings.Contains(log, token) {
				t.Error("the token is in the log")
			}
			if n := reached.Load(); n != 0 {
				t.Errorf("%d connections were made elsewhere", n)
			}
		})
	}
}

// token is the announcer's token for Consul.
const token = "5d7c1e0a-the-token"

// attackAnnouncer has a node announced to an impostor, until it has answered a few times and then
// relents, and returns the announcer's log.
func attackAnnouncer(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	agent := &impostor{answer: answer, answered: make(chan struct{}, answers), told: make(chan string, 1)}
	server := httptest.NewUnstartedServer(agent)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a, err := announce.New(announce.Config{
		Consul: server.URL, TokenFile: file, Node: "n1", Address: ":8701", TTL: 3 * time.Second,
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx, idle{}) }()
	for range answers {
		select {
		case <-agent.answered:
		case <-time.After(time.Minute):
			t.Error("the announcer does not ask any more")
		}
	}
	agent.relented.Store(true)
	select {
	case told := <-agent.told:
		if !strings.Contains(told, `"node":"n1"`) {
			t.Errorf("it is announced as %.200q", told)
		}
	case <-time.After(time.Minute):
		t.Error("when all is well the node is not announced")
	}
	cancel()
	<-done
	if agent.believed.Load() {
		t.Error("it would be announced at an address that is none")
	}
	if n := agent.taken.Load(); n > mostTaken {
		t.Errorf("%d bytes were taken of one answer", n)
	}
	return log.String()
}

// TestAnnouncerFromInside: code in a sandbox finds neither Consul nor the token, since the
// node's loopback is in another network namespace and the announcer opens no socket.
func TestAnnouncerFromInside(t *testing.T) {
	a := newArena(t)
	address, reached := victim(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	held(t, a.execute(t, a.bystander, program(fmt.Sprintf(`
for host in (%q, '::1', '0.0.0.0', '127.0.0.2', '169.254.1.1', '172.17.0.1'):
    for port in (%s, 8500, 8501, 8502, 8600):
        fails((host, port), lambda: socket.create_connection((host, port), 1))
for name in ('consul.service.consul', 'localhost', 'yurt-executor.service.consul'):
    fails(name, lambda: socket.create_connection((name, %s), 1))
for path in ('/etc/consul.d', '/run/consul', '/var/run/consul', '/opt/consul', '/etc/yurt', '/var/lib/yurt'):
    if os.path.exists(path): got(path)
for name in os.environ:
    if name.startswith('CONSUL'): got(name)
`, host, port, port))))
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections came out", n)
	}
}
