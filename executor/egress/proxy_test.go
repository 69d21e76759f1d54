package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// names answers as a server of DNS would that an attacker may own: each question with the
// next answer.
type names struct {
	answers map[string][]string
	asked   atomic.Int64
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	list := n.answers[host]
	if len(list) == 0 {
		return nil, errors.New("no such host")
	}
	at := min(int(n.asked.Add(1))-1, len(list)-1)
	var addrs []netip.Addr
	for text := range strings.SplitSeq(list[at], ",") {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

// world is a registry, and a proxy that leads to it.
type world struct {
	registry, plain *httptest.Server
	proxy           string // its address
	names           *names
}

func newWorld(t *testing.T) world {
	t.Helper()
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s %s %s", r.Method, r.Host, r.Header.Get("Proxy-Authorization"))
	})
	w := world{registry: httptest.NewTLSServer(hello), plain: httptest.NewServer(hello), names: &names{answers: map[string][]string{
		"registry.test": {"127.0.0.1"}, "plain.test": {"127.0.0.1"}, "inner.test": {"127.0.0.1"}, "rebound.test": {"203.0.113.7", "127.0.0.1"},
		"mixed.test": {"203.0.113.7,10.0.0.1"}, "metadata.test": {"169.254.169.254"}, "mapped.test": {"::ffff:127.0.0.1"},
	}}}
	t.Cleanup(w.registry.Close)
	t.Cleanup(w.plain.Close)
	port := portOf(t, w.registry.URL)
	hosts := []Host{
		{"registry.test", port, true},
		{"plain.test", portOf(t, w.plain.URL), true},
		{"inner.test", port, false},
		{"mapped.test", port, false},
		{"mixed.test", port, false},
		{"metadata.test", 80, true},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.proxy = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		New(hosts, w.names, slog.New(slog.DiscardHandler)).Serve(ctx, listener)
	}()
	t.Cleanup(func() { cancel(); <-served })
	return w
}

func portOf(t *testing.T, address string) uint16 {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(port)
}

// get asks for an address through the proxy, as serverName in TLS if that is given.
func (w world) get(t *testing.T, address, serverName string) (string, error) {
	t.Helper()
	transport := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: w.proxy}),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: serverName},
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: time.Minute}
	res, err := client.Get(address)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", res.Status, body)
	}
	return string(body), err
}

func TestProxyReachesWhatIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	port := strconv.Itoa(int(portOf(t, w.registry.URL)))
	for _, address := range []string{"https://registry.test:" + port, "https://REGISTRY.test:" + port} {
		if body, err := w.get(t, address, ""); err != nil || !strings.HasPrefix(body, "hello GET ") {
			t.Errorf("%s: %q, %v", address, body, err)
		}
	}
	plain := "plain.test:" + strconv.Itoa(int(portOf(t, w.plain.URL)))
	if body, err := w.get(t, "http://"+plain, ""); err != nil || body != "hello GET "+plain+" " {
		t.Errorf("plain: %q, %v", body, err)
	}
}

func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	port := strconv.Itoa(int(portOf(t, w.registry.URL)))
	plainPort := strconv.Itoa(int(portOf(t, w.plain.URL)))
	for name, tt := range map[string]struct{ address, serverName, want string }{
		"another host":             {"https://evil.test:" + port, "", "Forbidden"},
		"another port":             {"https://registry.test:" + plainPort, "", "Forbidden"},
		"its address":              {"https://127.0.0.1:" + port, "registry.test", "Forbidden"},
		"a longer name":            {"https://registry.test.evil.test:" + port, "", "Forbidden"},
		"a private address":        {"https://inner.test:" + port, "", "Forbidden"},
		"a mapped address":         {"https://mapped.test:" + port, "", "Forbidden"},
		"one of two is private":    {"https://mixed.test:" + port, "", "Forbidden"},
		"another name in TLS":      {"https://registry.test:" + port, "evil.test", "EOF"},
		"metadata":                 {"http://169.254.169.254/latest", "", "403"},
		"metadata by a name":       {"http://metadata.test/latest", "", "403"},
		"metadata though private":  {"http://[fd00:ec2::254]/latest", "", "403"},
		"the proxy's own loopback": {"http://127.0.0.1:" + plainPort, "", "403"},
		"plain of another":         {"http://evil.test", "", "403"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := w.get(t, tt.address, tt.serverName)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q, %v; want %s", body, err, tt.want)
			}
		})
	}
}

// TestProxyIsNotRebound has a name that is public when it is looked at, and private when it
// is asked for again: the address that was looked at is the one that is dialled.
func TestProxyIsNotRebound(t *testing.T) {
	t.Parallel()
	answers := &names{answers: map[string][]string{"rebound.test": {"127.0.0.1", "203.0.113.7"}}}
	p := New([]Host{{"rebound.test", 443, false}}, answers, slog.New(slog.DiscardHandler))
	_, err := p.dial(t.Context(), "rebound.test:443")
	if reason := new(refusal); !errors.As(err, &reason) {
		t.Errorf("the first answer is private: %v", err)
	}
	answers.asked.Store(0)
	answers.answers["rebound.test"] = []string{"203.0.113.7", "127.0.0.1"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the host need not be reachable: the test counts the questions
	if _, err := p.dial(ctx, "rebound.test:443"); err == nil || answers.asked.Load() != 1 {
		t.Errorf("asked %d times, error %v", answers.asked.Load(), err)
	}
}

// TestTunnelWithoutTLS sends something else through a tunnel.
func TestTunnelWithoutTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn, err := net.Dial("tcp", w.proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	host := fmt.Sprintf("plain.test:%d", portOf(t, w.plain.URL))
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\nGET / HTTP/1.1\r\nHost: %s\r\n\r\n", host, host, host)
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil && !strings.Contains(err.Error(), "reset") || strings.Contains(string(all), "hello") {
		t.Errorf("%q, %v", all, err)
	}
}

func TestHostOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://pypi.example/simple": "pypi.example:443", "http://Mirror:8080/x": "mirror:8080", "sparse+https://index.example/": "index.example:443",
		"https://user:secret@pypi.example/simple": "", "file:///etc": "", "off": "", "https://": "", "https://a b/": "",
	} {
		host, err := HostOf(address)
		if (err == nil) != (want != "") || err == nil && host.key() != want {
			t.Errorf("%s: %+v, %v", address, host, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

func TestMayReach(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"151.101.0.223": true, "2a04:4e42::223": true, "127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "fc00::1": false, "0.0.0.0": false, "::": false, "224.0.0.1": false,
		"255.255.255.255": false, "100.64.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::a00:1": false, "2002:7f00:1::": false, "168.63.129.16": false, "::7f00:1": false,
		"192.0.2.1": false, "192.88.99.1": false, "2001:db8::1": false, "100::1": false, "5f00::1": false,
	} {
		if got := (Host{}).mayReach(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for text, want := range map[string]bool{"10.1.2.3": true, "127.0.0.1": true, "169.254.169.254": false, "fd00:ec2::254": false, "100.100.100.200": false, "::": false} {
		if got := (Host{Private: true}).mayReach(netip.MustParseAddr(text)); got != want {
			t.Errorf("a private host at %s: %v", text, got)
		}
	}
}

// TestOwnAddressesAreRefused: services of the node listen at its addresses, public ones too.
func TestOwnAddressesAreRefused(t *testing.T) {
	public := netip.MustParseAddr("151.101.0.223")
	if !(Host{}).mayReach(public) {
		t.Fatalf("%s of another machine is refused", public)
	}
	lockedthread.Run(func() { // the network namespace ends with the thread
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		if out, err := exec.CommandContext(t.Context(), "ip", "address", "add", public.String()+"/32", "dev", "lo").CombinedOutput(); err != nil {
			t.Errorf("giving the machine an address: %v\n%s", err, out)
			return
		}
		if (Host{}).mayReach(public) {
			t.Errorf("%s of this machine can be reached", public)
		}
		if !(Host{Private: true}).mayReach(public) {
			t.Errorf("%s of this machine cannot be reached by a host that the operator has listed as a private one", public)
		}
	})
}

// FuzzParseHello parses arbitrary bytes of a client in a tunnel.
func FuzzParseHello(f *testing.F) {
	for _, name := range []string{"pypi.org", "a", strings.Repeat("a.", 100) + "b"} {
		f.Add(helloFor(name))
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0x16, 3, 1, 0xff, 0xff, 1})
	f.Add(bytes.Replace(helloFor("pypi.org"), []byte("pypi"), []byte("py\bi"), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		name, read, err := parseHello(strings.NewReader(string(data)))
		if len(read) > len(data) || !bytes.HasPrefix(data, read) || len(read) > maxHello {
			t.Errorf("read %d of %d bytes, or others", len(read), len(data))
		}
		if _, ok := cleanName(name); err == nil && name != "" && !ok {
			t.Errorf("name %q", name)
		}
	})
}

// helloFor returns the first bytes of a client that connects to the name.
func helloFor(name string) []byte {
	conn := &listening{from: strings.NewReader("")}
	sent := &sending{listening: conn}
	_ = tls.Client(sent, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}).HandshakeContext(context.Background())
	return sent.data
}

// sending keeps the bytes that are written to it.
type sending struct {
	*listening
	data []byte
}

func (s *sending) Write(p []byte) (int, error) {
	s.data = append(s.data, p...)
	return len(p), nil
}

// FuzzParseHost: an accepted host has one form only, the form that rules compare.
func FuzzParseHost(f *testing.F) {
	for _, seed := range []string{"pypi.org", "pypi.org:443", "[::1]:80", "a:b", "A.B.", "1.2.3.4", "x y", "https://a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, err := ParseHost(text)
		if err != nil {
			return
		}
		again, err := ParseHost(host.key())
		if err != nil || again != host {
			t.Errorf("%q became %+v, and that %+v: %v", text, host, again, err)
		}
	})
}
