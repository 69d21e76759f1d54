// Package listen decides at which address a server may answer, and how its callers prove themselves there.
//
// On this machine alone a server needs neither keys nor TLS. An address that other machines reach needs both, unless its operator
// says --insecure. A start that would break the rule is refused with the next step.
package listen

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/clientlimits"
)

// Default is the address of the development server.
const Default = "127.0.0.1:8700"

// Flags say where a server listens.
type Flags struct {
	Address     string
	RequireKeys bool
	Insecure    bool
	Certificate string // file of the certificate that clients see
	Key         string // file of its key
}

// Add adds the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Address, "listen", Default, "the address and port to listen on; port 0 takes any free one. One that other machines reach needs --listen-cert, and turns API keys on")
	flags.BoolVar(&f.RequireKeys, "require-keys", false, "ask for an API key also at an address of this machine alone (see yurt key create)")
	flags.StringVar(&f.Certificate, "listen-cert", "", "the file with the certificate that clients see, and its chain; it is read again when it changes")
	flags.StringVar(&f.Key, "listen-key", "", "the file with the key of --listen-cert")
	flags.BoolVar(&f.Insecure, "insecure", false, "allow --listen to be an address that other machines reach without TLS; without --require-keys too, all of them may run code and see every session")
}

// Check refuses a malformed address, and one that other machines reach unprotected.
func (f *Flags) Check() error {
	const field = "--listen"
	_, port, err := net.SplitHostPort(f.Address)
	if err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%q is not an address; give host:port such as %s", f.Address, Default)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%q is not a port; give 0 to 65535, where 0 means any that is free", port)
	}
	if (f.Certificate == "") != (f.Key == "") {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--listen-cert", "a certificate and its key belong together; give --listen-cert and --listen-key")
	}
	if !f.Local() && !f.TLS() && !f.Insecure {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field,
			"%q can be reached from other machines, which would read API keys on the way; give --listen-cert and --listen-key, or listen on 127.0.0.1, [::1] or localhost. "+
				"Behind a proxy that speaks TLS, give --insecure --require-keys", f.Address)
	}
	return nil
}

// Local reports whether only this machine reaches the address.
func (f *Flags) Local() bool {
	host, _, err := net.SplitHostPort(f.Address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// TLS reports whether clients speak TLS.
func (f *Flags) TLS() bool { return f.Certificate != "" }

// Keys reports whether requests need an API key.
func (f *Flags) Keys() bool { return f.RequireKeys || !f.Local() && !f.Insecure }

// Trusting reports whether the server takes every request for one of a user of this machine. Pages that this user visits must not
// send any then.
func (f *Flags) Trusting() bool { return f.Local() && !f.Keys() && !f.Insecure }

// URL returns the address of the server at a listener. It names this machine if the server listens at all addresses, since no client
// can call [::].
func (f *Flags) URL(at net.Addr) string {
	address := at.String()
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		address = net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	if f.TLS() {
		return "https://" + address
	}
	return "http://" + address
}

// Bind listens at the address. The caller closes the listener.
func (f *Flags) Bind(ctx context.Context) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.Address)
	if err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeUnavailable, "--listen", "listening on %s: %w; is another server running? Port 0 takes any free one", f.Address, err)
	}
	return listener, nil
}

// Open returns the listener for the connections of clients, over the one that bind returns. The caller closes it.
func (f *Flags) Open(ctx context.Context, bind func(context.Context) (net.Listener, error)) (net.Listener, error) {
	var pair *certificate
	if f.TLS() {
		pair = &certificate{files: *f}
		if _, err := pair.current(nil); err != nil {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--listen-cert", "%w; give a certificate and its key in PEM", err)
		}
	}
	listener, err := bind(ctx)
	if err != nil {
		return nil, err
	}
	listener = clientlimits.Listen(listener) // below TLS, whose connections the HTTP server has to recognise
	if pair == nil {
		return listener, nil
	}
	return tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.current}), nil
}

// checkPeriod is how often the files of a certificate are looked at.
const checkPeriod = time.Second

// certificate is a pair of files that are read again when they change. Files that cannot be used leave the pair as it is.
type certificate struct {
	files Flags

	mu      sync.Mutex
	looked  time.Time
	changed [2]time.Time
	pair    *tls.Certificate
}

func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pair != nil && time.Since(c.looked) < checkPeriod {
		return c.pair, nil
	}
	c.looked = time.Now()
	var changed [2]time.Time
	for i, name := range []string{c.files.Certificate, c.files.Key} {
		if info, err := os.Stat(name); err == nil {
			changed[i] = info.ModTime()
		}
	}
	if c.pair != nil && changed == c.changed {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.files.Certificate, c.files.Key)
	switch {
	case err == nil:
		c.pair, c.changed = &pair, changed
	case c.pair == nil:
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return c.pair, nil
}
