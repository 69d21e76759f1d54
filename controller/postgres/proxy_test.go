package postgres_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// cut says when a connection breaks.
type cut int

const (
	never        cut = iota
	beforeCommit     // the server never gets it
	afterCommit      // its answer never comes
)

// proxy is between a store and its server, and breaks connections.
type proxy struct {
	url    string
	server string // its socket

	mu    sync.Mutex
	plan  cut
	count int
}

// startProxy returns a proxy to the database with the URL of a pgserver.Server.
func startProxy(t *testing.T, url string) *proxy {
	t.Helper()
	base, dir, ok := strings.Cut(url, "&host=")
	if !ok {
		t.Fatalf("%s names no socket", url)
	}
	own, err := os.MkdirTemp("", "yurt-proxy-")
	if err != nil {
		t.Fatal(err)
	}
	// The proxy has to see each statement's text, so statements are not prepared.
	p := &proxy{url: base + "&host=" + own + "&default_query_exec_mode=exec", server: filepath.Join(dir, ".s.PGSQL.5432")}
	listener, err := net.Listen("unix", filepath.Join(own, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(t, client) })
		}
	})
	t.Cleanup(func() {
		err := errors.Join(listener.Close(), os.RemoveAll(own))
		serving.Wait() // the store is closed: cleanups run last to first
		if err != nil {
			t.Error(err)
		}
	})
	return p
}

// next breaks the connection of the next commit.
func (p *proxy) next(plan cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.count = plan, 0
}

// used reports whether that has happened.
func (p *proxy) used() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count == 1
}

// take returns the plan, once.
func (p *proxy) take() cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan := p.plan
	if p.plan = never; plan != never {
		p.count++
	}
	return plan
}

func (p *proxy) serve(t *testing.T, client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		t.Error(err)
		return
	}
	defer server.Close()
	var (
		mute  sync.Mutex // held while an answer is passed on
		muted bool
	)
	answered := make(chan struct{}, 1024)
	var answers sync.WaitGroup
	answers.Go(func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			mute.Lock()
			if muted {
				answered <- struct{}{}
			} else {
				_, err = client.Write(buf[:n])
			}
			mute.Unlock()
			if err != nil {
				return
			}
		}
	})
	defer answers.Wait()
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		plan := never
		if bytes.Contains(buf[:n], []byte("COMMIT")) {
			plan = p.take()
		}
		if plan == beforeCommit {
			return
		}
		if plan == afterCommit {
			mute.Lock()
			muted = true
			mute.Unlock()
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		if plan == afterCommit {
			<-answered
			return
		}
	}
}
