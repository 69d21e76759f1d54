package attack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt/executor/egress"
)

// attackersNames is a server of DNS that the attacker owns: each answer is another.
type attackersNames struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   map[string]int
}

func (n *attackersNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[host]
	if len(list) == 0 {
		return nil, errors.New("no such host")
	}
	at := n.asked[host]
	n.asked[host]++
	return []netip.Addr{netip.MustParseAddr(list[at%len(list)])}, nil
}

// victim is a service of the node that sandboxes must not reach, on loopback as the executor's own
// are. It counts its connections, and does not answer.
func victim(t *testing.T) (address string, reached *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reached = new(atomic.Int64)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			conn.Close()
		}
	})
	t.Cleanup(func() { listener.Close(); serving.Wait() })
	return listener.Addr().String(), reached
}

// TestEgress speaks to the proxy of installations, as an install script can: for all its requests,
// only the registry that the operator named is reached on the node.
func TestEgress(t *testing.T) {
	address, reached := victim(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" { // a registry may be written to by anybody
			http.Redirect(w, r, "http://"+address+"/", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "registry for %s", r.Host)
	}))
	t.Cleanup(registry.Close)
	listed, err := egress.HostOf("http://mirror.test:" + strings.TrimPrefix(registry.URL, "http://127.0.0.1:"))
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("mirror.test:%d", listed.Port)
	inner, err := egress.ParseHost("rebound.test:" + port)
	if err != nil {
		t.Fatal(err)
	}
	names := &attackersNames{asked: make(map[string]int), answers: map[string][]string{
		"mirror.test": {"127.0.0.1"}, "rebound.test": {"127.0.0.1", "::ffff:127.0.0.1", "::1", "0.0.0.0", "10.0.0.1", "169.254.169.254"},
		"evil.test": {"127.0.0.1"}, "allowed.test": {"192.0.2.1"}, // evil.test is the victim, to a resolver that stops at a NUL
	}}
	allowed, err := egress.ParseHost("allowed.test:" + port)
	if err != nil {
		t.Fatal(err)
	}
	allowed.Private = true
	proxy := serveProxy(t, names, listed, inner, allowed)
	for _, a := range egressAttacks(name, address) {
		t.Run(a.name, func(t *testing.T) {
			t.Log("must fail, since", a.fails)
			answer := say(t, proxy, a.request, a.want)
			if !strings.Contains(answer, a.want) {
				t.Errorf("the answer is %.500q, and has no %q", answer, a.want)
			}
			if a.name == "plain text in a tunnel" && strings.Contains(answer, "registry") {
				t.Errorf("it was carried: %.500q", answer)
			}
			if n := reached.Swap(0); n != 0 {
				t.Errorf("the victim was reached %d times", n)
			}
			names.mu.Lock()
			defer names.mu.Unlock()
			if n := names.asked["evil.test"]; n != 0 {
				t.Errorf("the name before the NUL was looked up %d times", n)
			}
		})
	}
}

// egressAttack is a text that the proxy of installations is told.
type egressAttack struct{ name, fails, request, want string }

// egressAttacks are after the victim at the address. name is the registry's, which may be reached.
func egressAttacks(name, address string) []egressAttack {
	_, port, _ := strings.Cut(address, ":")
	const nul = "evil.test\x00.allowed.test"
	var number [2]byte
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		binary.BigEndian.PutUint16(number[:], uint16(n))
	}
	return []egressAttack{
		{"the instrument", "it does not: the registry is reached", "GET http://" + name + "/ HTTP/1.1\r\nHost: x\r\n\r\n", "registry for " + name},
		{"a name that is rebound", "every address is looked at, at each request, and the one that was looked at is dialled", strings.Repeat("CONNECT rebound.test:"+port+" HTTP/1.1\r\nHost: x\r\n\r\n", 12), "403"},
		{"a redirect", "the client that follows it asks the proxy, which refuses", "GET http://" + name + "/redirect HTTP/1.1\r\nHost: x\r\n\r\nGET http://" + address + "/ HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
		{"absolute form to loopback", "the host in the address counts", "GET http://" + address + "/ HTTP/1.1\r\nHost: " + name + "\r\n\r\n", "403"},
		{"the host in another place", "the host in the address counts, and is the one that the registry gets", "GET http://" + name + "/ HTTP/1.1\r\nHost: " + address + "\r\nX-Forwarded-Host: " + address + "\r\n\r\n", "registry for " + name},
		{"origin form", "there is no host in the address", "GET / HTTP/1.1\r\nHost: " + address + "\r\n\r\n", "400"},
		{"a user before the host", "the text before the @ is not a host", "GET http://" + name + "@" + address + "/ HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
		{"a backslash and a fragment", "the address is read once, by one parser", "GET http://" + name + "#@" + address + "/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://" + name + "\\@" + address + "/ HTTP/1.1\r\nHost: x\r\n\r\n", ""},
		{"another scheme", "the proxy speaks plain HTTP alone, beside tunnels", "GET ftp://" + name + "/ HTTP/1.1\r\nHost: x\r\n\r\nGET https://" + address + "/ HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		{"a tunnel to loopback", "it is not listed", "CONNECT " + address + " HTTP/1.1\r\nHost: " + name + "\r\n\r\n", "403"},
		{"a tunnel to localhost", "it is not listed", "CONNECT localhost:" + port + " HTTP/1.1\r\nHost: " + name + "\r\n\r\n", "403"},
		{"an address in other numbers", "a name of digits is looked up as a name, and not listed", "CONNECT 2130706433:" + port + " HTTP/1.1\r\nHost: x\r\n\r\nCONNECT 0x7f.1:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
		{"an address of IPv6", "it is not listed", "CONNECT [::1]:" + port + " HTTP/1.1\r\nHost: x\r\n\r\nCONNECT [::ffff:127.0.0.1]:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
		{"another port of the registry", "a host is a name and a port", "CONNECT mirror.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
		{"two lengths", "a request that can be read in two ways is refused", "POST http://" + name + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://" + address + "/ HTTP/1.1\r\nHost: x\r\n\r\n", ""},
		{"a line break in the address", "addresses with control characters are refused", "GET http://" + name + "/\x0b\rHost:" + address + " HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		{"plain text in a tunnel", "a tunnel carries only TLS for the requested host", "CONNECT " + name + " HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: " + address + "\r\n\r\n", "200 Connection established"},
		{"a NUL in the name of a tunnel", "a name with a control character is no name, and names are compared whole", "CONNECT " + nul + ":" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		{"a NUL in the name of a tunnel, escaped", "an escape in a name is no name", "CONNECT evil.test%00.allowed.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		{"a NUL in the name of an address", "an escape in a name is no name", "GET http://evil.test%00.allowed.test:" + port + "/ HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		{"a NUL in the header of the host", "a header with a control character is refused", "GET http://" + name + "/ HTTP/1.1\r\nHost: " + nul + "\r\n\r\n", "400"},
		{"a NUL in a name of SOCKS 5", "the proxy does not speak SOCKS", "\x05\x01\x00\x05\x01\x00\x03" + string(rune(len(nul))) + nul + string(number[:]) + "\r\n\r\n", "400"},
		{"a NUL in a name of SOCKS 4", "the proxy does not speak SOCKS", "\x04\x01" + string(number[:]) + "\x00\x00\x00\x01\x00" + nul + "\x00\r\n\r\n", "400"},
		{"a name that ends like one of the list", "names are compared whole", "CONNECT evil.test.allowed.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\nCONNECT evilallowed.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
		{"a name that begins like one of the list", "names are compared whole", "CONNECT allowed.test.evil.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
		{"a NUL, and another host behind it", "a name with a control character is no name", "CONNECT allowed.test:" + port + "\x00@evil.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
	}
}

// serveProxy serves a proxy as an installation has it.
func serveProxy(t *testing.T, names egress.Resolver, hosts ...egress.Host) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { egress.New(hosts, names, slog.New(slog.DiscardHandler)).Serve(ctx, listener) })
	t.Cleanup(func() { cancel(); served.Wait() })
	return listener.Addr().String()
}

// say sends bytes to the proxy and returns the answer, until the proxy hangs up, or has sent the
// wanted text, or is silent for a while after it has answered all requests.
func say(t *testing.T, proxy, request, want string) string {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	var answer strings.Builder
	buffer := make([]byte, 32<<10)
	for {
		patience := 20 * time.Second
		if text := answer.String(); strings.Count(text, "HTTP/1.1 ") >= strings.Count(request, " HTTP/1.1\r\n") && strings.Contains(text, want) {
			patience = 300 * time.Millisecond
		}
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(buffer)
		answer.Write(buffer[:n])
		if err != nil {
			return answer.String()
		}
	}
}
