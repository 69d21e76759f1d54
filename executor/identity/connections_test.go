package identity_test

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yurtrun/yurt/executor/identity"
)

// TestConnectionsOfAReplacedAuthority: an idle connection ends when its caller's authority is trusted no longer, and one of an authority
// that is trusted stays.
func TestConnectionsOfAReplacedAuthority(t *testing.T) {
	first, firstDir := authority(t)
	second, secondDir := authority(t)
	executor := issue(t, first, firstDir, identity.Name{Role: identity.RoleExecutor, Name: "n1"})
	both := filepath.Join(t.TempDir(), "both.pem")
	trustBoth := func() {
		var all []byte
		for _, dir := range []string{firstDir, secondDir} {
			data, err := os.ReadFile(filepath.Join(dir, identity.AuthorityFile))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, data...)
		}
		if err := os.WriteFile(both, all, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trustBoth()
	executor.Authorities = both
	if _, err := second.Issue(identity.Name{Role: identity.RoleExecutor, Name: "n1"}, time.Minute, executor.Certificate, executor.Key); err != nil {
		t.Fatal(err)
	}
	source, err := identity.Open(executor, identity.RoleExecutor, time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		source.Run(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	conns := source.Connections(identity.RoleController, 10*time.Millisecond)
	defer conns.Close()
	old := connected(t, source, conns, issue(t, first, t.TempDir(), identity.Name{Role: identity.RoleController, Name: "c1"}), both)
	fresh := connected(t, source, conns, issue(t, second, t.TempDir(), identity.Name{Role: identity.RoleController, Name: "c2"}), both)
	onlySecond, err := os.ReadFile(filepath.Join(secondDir, identity.AuthorityFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(both, onlySecond, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := old.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the connection of the replaced authority goes on: %v", err)
	}
	if err := fresh.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("the connection of the new authority has the error %v, expected that it stays open", err)
	}
}

// connected returns the caller's end of a connection that is among those of the source.
func connected(t *testing.T, source *identity.Source, conns *identity.Connections, caller identity.Files, authorities string) net.Conn {
	t.Helper()
	caller.Authorities = authorities
	from, err := identity.Open(caller, identity.RoleController, time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	config, err := from.ClientConfig(identity.Name{Role: identity.RoleExecutor, Name: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			served <- err
			return
		}
		secure := tls.Server(conn, source.ServerConfig(identity.RoleController))
		if err = secure.HandshakeContext(t.Context()); err == nil {
			kept := conns.Add(secure, secure.ConnectionState())
			t.Cleanup(func() { kept.Close() })
		}
		served <- err
	}()
	conn, err := tls.Dial("tcp", listener.Addr().String(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	return conn
}
