package audit_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/audit"
)

const syslogWait = 10 * time.Second

func withSyslog(address string) func(*audit.Config) {
	return func(c *audit.Config) { c.Syslog = address }
}

// end adds an entry, and does not wait until it is written.
func (w *world) end(e access.Entry) {
	w.t.Helper()
	pending, err := w.log.Begin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	pending.End(e)
}

// TestSyslogDatagrams: each entry is one message in the format of its socket, and no value of a client begins another message.
func TestSyslogDatagrams(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "log")
	for _, tt := range []struct{ network, listen, scheme, format string }{
		{"unixgram", socket, "unix", `^<85>\w{3} [ \d]\d \d\d:\d\d:\d\d yurt\[\d+\]: `},
		{"udp", "127.0.0.1:0", "udp", `^<85>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \S+ yurt \d+ audit - `},
	} {
		conn, err := net.ListenPacket(tt.network, tt.listen)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		w := newWorld(t, withSyslog(tt.scheme+"://"+conn.LocalAddr().String()))
		w.end(access.Entry{Action: "a\n<34>1 forged", Decision: access.Denied})
		if err := conn.SetReadDeadline(time.Now().Add(syslogWait)); err != nil {
			t.Fatal(err)
		}
		message := make([]byte, 64<<10)
		n, _, err := conn.ReadFrom(message)
		if err != nil {
			t.Fatal(err)
		}
		text := string(message[:n])
		header := regexp.MustCompile(tt.format).FindString(text)
		var entry access.Entry
		if err := json.Unmarshal([]byte(text[len(header):]), &entry); header == "" || err != nil || entry.Action != "a\n<34>1 forged" || strings.Contains(text, "\n") {
			t.Errorf("%s: got %q, error %v", tt.network, text, err)
		}
	}
}

// readFrame reads a message with its length before it.
func readFrame(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	length, err := r.ReadString(' ')
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(length, " "))
	if err != nil {
		t.Fatal(err)
	}
	message := make([]byte, n)
	if _, err := io.ReadFull(r, message); err != nil {
		t.Fatal(err)
	}
	return string(message)
}

// TestSyslogComesBack: entries wait for a syslog server that is away, and those that it has are not sent again.
func TestSyslogComesBack(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := server.Addr().String()
	w := newWorld(t, withSyslog("tcp://"+address))
	conn, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	w.end(access.Entry{Action: "first"})
	if got := readFrame(t, bufio.NewReader(conn)); !strings.Contains(got, `"action":"first"`) {
		t.Errorf("the first message is %q", got)
	}
	w.await(1)
	server.Close()
	conn.(*net.TCPConn).SetLinger(0) //nolint:errcheck,forcetypeassert // the close is a reset then, which the next write sees
	conn.Close()
	time.Sleep(50 * time.Millisecond)
	w.end(access.Entry{Action: "second"})
	time.Sleep(300 * time.Millisecond) // the log has tried
	if n := len(w.entries()); n != 1 {
		t.Errorf("the store has %d entries while syslog is away, want 1", n)
	}
	if server, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if conn, err = server.Accept(); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := readFrame(t, bufio.NewReader(conn)); !strings.Contains(got, `"action":"second"`) {
		t.Errorf("the message after the pause is %q", got)
	}
	w.await(2)
}

func TestSyslogAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"/dev/log", "syslog", "udp://", "http://host:1", "unix://relative", "tcp://host:1/path", "tcp://127.0.0.1:1", "unix:///no/such/socket", "%"} {
		_, err := audit.New(audit.Config{Store: &awayStore{}, Syslog: address})
		var coded *yurt.Error
		if !errors.As(err, &coded) || coded.Field != "--audit-syslog" {
			t.Errorf("%s: %v, want an error of --audit-syslog", address, err)
		}
	}
}
