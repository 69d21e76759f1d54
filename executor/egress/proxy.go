package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	dialTimeout  = 20 * time.Second
	helloTimeout = 20 * time.Second // for the client to begin its TLS
	idleTimeout  = 2 * time.Minute  // of a quiet tunnel
	headTimeout  = 20 * time.Second
	maxHead      = 64 << 10 // of a request, in bytes
	// maxTunnels bounds the connections at once of one sandbox.
	maxTunnels = 128
	// maxTold bounds how many refusals are logged for one sandbox.
	maxTold = 100
)

// Resolver finds the addresses of a name; [net.Resolver] does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Proxy is the proxy of one sandbox.
type Proxy struct {
	hosts    map[string]Host // by name and port
	resolver Resolver
	logger   *slog.Logger
	plain    *httputil.ReverseProxy
	slots    chan struct{}
	told     atomic.Int64
	tunnels  sync.WaitGroup
}

// New returns a proxy to the hosts.
func New(hosts []Host, resolver Resolver, logger *slog.Logger) *Proxy {
	p := &Proxy{hosts: make(map[string]Host), resolver: resolver, logger: logger, slots: make(chan struct{}, maxTunnels)}
	for _, h := range hosts {
		key := h.key()
		h.Private = h.Private || p.hosts[key].Private
		p.hosts[key] = h
	}
	p.plain = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.Host = r.In.URL.Host },
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return p.dial(ctx, address) },
			Proxy:       nil, DisableKeepAlives: true, ResponseHeaderTimeout: idleTimeout, DisableCompression: true,
		},
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { p.refuse(w, r.URL.Host, err) },
	}
	return p
}

func (h Host) key() string { return net.JoinHostPort(h.Name, strconv.Itoa(int(h.Port))) }

// Serve answers at the listener, which it closes, until ctx ends. All of its goroutines have ended when it returns.
func (p *Proxy) Serve(ctx context.Context, listener net.Listener) {
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: headTimeout, MaxHeaderBytes: maxHead, IdleTimeout: idleTimeout,
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	_ = server.Serve(listener) // it ends because it is closed
	p.tunnels.Wait()
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		http.Error(w, "too many connections at once", http.StatusTooManyRequests)
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		p.tunnels.Add(1)
		defer p.tunnels.Done()
		p.connect(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.plain.ServeHTTP(w, r)
	default:
		http.Error(w, "this is a proxy for HTTP", http.StatusBadRequest)
	}
}

// refusal says why a host is not reached.
type refusal struct{ reason string }

func (r *refusal) Error() string { return r.reason }

// allowed returns the host at an address of the form NAME:PORT, if it is on the list.
func (p *Proxy) allowed(address string) (Host, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		name, port = address, "80"
	}
	clean, ok := cleanName(name)
	if host, known := p.hosts[net.JoinHostPort(clean, port)]; ok && known {
		return host, nil
	}
	return Host{}, &refusal{"it is not a registry that this node lets packages be installed from"}
}

// dial connects to a host on the list.
func (p *Proxy) dial(ctx context.Context, address string) (net.Conn, error) {
	host, err := p.allowed(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs := []netip.Addr{}
	if addr, err := netip.ParseAddr(host.Name); err == nil {
		addrs = append(addrs, addr)
	} else if addrs, err = p.resolver.LookupNetIP(ctx, "ip", host.Name); err != nil {
		return nil, fmt.Errorf("finding %s: %w", host.Name, err)
	}
	// All of them: an answer that holds a private address beside another is a trick.
	for _, addr := range addrs {
		if !host.mayReach(addr) {
			return nil, &refusal{fmt.Sprintf("it is at %s, which is a private or special address", addr)}
		}
	}
	var failures []error
	for _, addr := range addrs {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", netip.AddrPortFrom(addr.Unmap(), host.Port).String())
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, fmt.Errorf("reaching %s: %w", host.Name, errors.Join(failures...))
}

// connect serves a tunnel.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	host, err := p.allowed(r.Host)
	if err != nil {
		p.refuse(w, r.Host, err)
		return
	}
	server, err := p.dial(r.Context(), r.Host)
	if err != nil {
		p.refuse(w, r.Host, err)
		return
	}
	defer server.Close()
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "this connection cannot be a tunnel", http.StatusHTTPVersionNotSupported)
		return
	}
	client, buffered, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	stop := context.AfterFunc(r.Context(), func() { client.Close(); server.Close() })
	defer stop()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	hello, name, err := readHello(client, buffered.Reader)
	if err != nil || name != host.Name {
		p.note(r.Host, fmt.Sprintf("the tunnel holds no TLS for that host (but for %.100q: %v)", name, err))
		return
	}
	if _, err := server.Write(hello); err != nil {
		return
	}
	pipe(client, server)
}

// refuse answers with the reason why a host is not reached. It includes faults on the way, as the tools show them to their user.
func (p *Proxy) refuse(w http.ResponseWriter, host string, err error) {
	status := http.StatusBadGateway
	reason := new(refusal)
	if errors.As(err, &reason) {
		status = http.StatusForbidden
		p.note(host, reason.reason)
	}
	http.Error(w, fmt.Sprintf("%.200q cannot be reached: %v", host, err), status)
}

func (p *Proxy) note(host, reason string) {
	if p.told.Add(1) <= maxTold {
		p.logger.Warn("egress refused", "host", fmt.Sprintf("%.200q", host), "reason", reason)
	}
}

// pipe copies in both directions until both have ended, or are quiet for too long.
func pipe(a, b net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { copyIdle(a, b) })
	both.Go(func() { copyIdle(b, a) })
	both.Wait()
}

// copyIdle copies until the source ends, or is silent for too long.
func copyIdle(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for from.SetReadDeadline(time.Now().Add(idleTimeout)) == nil {
		n, err := from.Read(buffer)
		if n > 0 {
			if to.SetWriteDeadline(time.Now().Add(idleTimeout)) != nil {
				break
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				from.Close()
				break
			}
		}
		if err != nil {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		return
	}
	to.Close()
}
