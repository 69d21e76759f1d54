package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

const (
	syslogLimit    = 2 * time.Second // for a connection, and for one entry
	syslogPort     = "514"
	syslogSocket   = "/dev/log"
	syslogFacility = 10 // authpriv: messages about security that only administrators read
	syslogNotice   = 5
	syslogInfo     = 6
)

// syslog sends entries to a syslog server, each as a message whose text is the entry as JSON.
type syslog struct {
	network, address string
	host             string
	conn             net.Conn // nil while there is none
}

func openSyslog(where string) (*syslog, error) {
	s, err := parseSyslog(where)
	if err != nil {
		return nil, err
	}
	if s.host, err = os.Hostname(); err != nil {
		return nil, fmt.Errorf("finding the name of this host for syslog: %w", err)
	}
	if err := s.connect(); err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--audit-syslog", "connecting to %s: %w; start the syslog server, or give the address of another", where, err)
	}
	return s, nil
}

// parseSyslog reads local, unix:///path, udp://host:port or tcp://host:port.
func parseSyslog(where string) (*syslog, error) {
	if where == "local" {
		return &syslog{network: "unixgram", address: syslogSocket}, nil
	}
	u, err := url.Parse(where)
	switch {
	case err != nil:
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		return &syslog{network: "unixgram", address: u.Path}, nil
	case (u.Scheme == "udp" || u.Scheme == "tcp") && u.Hostname() != "" && strings.Trim(u.Path, "/") == "":
		return &syslog{network: u.Scheme, address: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), syslogPort))}, nil
	}
	return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--audit-syslog", "%q is no address of a syslog server; give local, unix:///path/of/socket, udp://host:514 or tcp://host:514", where)
}

func (s *syslog) connect() (err error) {
	dialer := net.Dialer{Timeout: syslogLimit}
	s.conn, err = dialer.DialContext(context.Background(), s.network, s.address)
	return err
}

func (s *syslog) add(entries []Entry) (added int, err error) {
	if s.conn == nil {
		if err := s.connect(); err != nil {
			return 0, fmt.Errorf("connecting to syslog: %w", err)
		}
	}
	for i, entry := range entries {
		if err := s.send(entry); err != nil {
			s.close()
			return i, err
		}
	}
	return len(entries), nil
}

func (s *syslog) send(entry Entry) error {
	text, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encoding an entry of the audit log: %w", err)
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(syslogLimit)); err != nil {
		return fmt.Errorf("sending an entry of the audit log to syslog: %w", err)
	}
	if _, err := s.conn.Write(s.message(entry, text)); err != nil {
		return fmt.Errorf("sending an entry of the audit log to syslog: %w", err)
	}
	return nil
}

// message returns a message in the format of RFC 5424, with its length before it on a stream (RFC 6587), or in the older format that
// programs on this host send to the local socket.
func (s *syslog) message(entry Entry, text []byte) []byte {
	severity := syslogInfo
	if entry.Decision == access.Denied {
		severity = syslogNotice
	}
	priority := syslogFacility*8 + severity
	if s.network == "unixgram" {
		return fmt.Appendf(nil, "<%d>%s yurt[%d]: %s", priority, entry.At.Local().Format(time.Stamp), os.Getpid(), text)
	}
	message := fmt.Appendf(nil, "<%d>1 %s %s yurt %d audit - %s", priority, entry.At.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), s.host, os.Getpid(), text)
	if s.network == "tcp" {
		return append([]byte(strconv.Itoa(len(message))+" "), message...)
	}
	return message
}

func (s *syslog) close() {
	if s.conn != nil {
		_ = s.conn.Close() // each entry was sent by a call of its own
		s.conn = nil
	}
}
