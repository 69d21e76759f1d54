package api_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/identity"
	"github.com/yurtrun/yurt/test/testutil"
)

// authority makes an authority in a directory of its own.
func authority(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := identity.InitAuthority(dir, 200*time.Hour, func() time.Time { return time.Now().Add(-100 * time.Hour) }); err != nil {
		t.Fatal(err)
	}
	return dir
}

// issue has the authority in ca issue a certificate for a part of that name, and returns its files; the part trusts
// that authority.
func issue(t *testing.T, ca string, role identity.Role, name string) identity.Files {
	t.Helper()
	dir := t.TempDir()
	files := identity.Files{
		Authorities: filepath.Join(dir, "ca.pem"), Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
	}
	reissue(t, ca, role, name, files, time.Now)
	trust(t, files, ca)
	return files
}

func reissue(t *testing.T, ca string, role identity.Role, name string, files identity.Files, now func() time.Time) {
	t.Helper()
	a, err := identity.OpenAuthority(ca, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Issue(identity.Name{Role: role, Name: name}, time.Hour, files.Certificate, files.Key); err != nil {
		t.Fatal(err)
	}
}

// trust has a part trust the authorities, and no others.
func trust(t *testing.T, files identity.Files, cas ...string) {
	t.Helper()
	var all []byte
	for _, ca := range cas {
		data, err := os.ReadFile(filepath.Join(ca, identity.AuthorityFile))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	if err := os.WriteFile(files.Authorities, all, 0o600); err != nil {
		t.Fatal(err)
	}
}

// journal is a log to look into.
type journal struct {
	mu sync.Mutex
	bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.Buffer.Write(p)
}

func (j *journal) has(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(j.String(), text)
}

func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.String(), text)
}

// serveTLS offers a node to controllers.
func serveTLS(t *testing.T, files identity.Files, now func() time.Time) (address string, log *journal) {
	t.Helper()
	log = &journal{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	source, err := identity.Open(files, identity.RoleExecutor, now, logger)
	if err != nil {
		t.Fatal(err)
	}
	running(t, source)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := api.NewServer(api.ServerConfig{Node: unreachable{}, Name: "n1", Version: "v1", Logger: logger})
	server.ServeTLS(listener, source)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		server.Shutdown(ctx)
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String(), log
}

// running has a source look at its files by itself until the test ends.
func running(t *testing.T, source *identity.Source) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { source.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

// call connects anew and asks the executor of node n1 something.
func call(t *testing.T, address string, files identity.Files, now func() time.Time) error {
	t.Helper()
	source, err := identity.Open(files, identity.RoleController, now, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	client, err := api.NewTLSClient(address, "n1", source)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Describe(t.Context())
	return err
}

func TestWhoMayCall(t *testing.T) {
	ca, otherCA := authority(t), authority(t)
	address, log := serveTLS(t, issue(t, ca, identity.RoleExecutor, "n1"), time.Now)
	if err := call(t, address, issue(t, ca, identity.RoleController, "c1"), time.Now); err != nil {
		t.Fatalf("a controller: %v", err)
	}

	stranger := issue(t, otherCA, identity.RoleController, "c1")
	if err := call(t, address, stranger, time.Now); err == nil || !strings.Contains(err.Error(), "cannot be trusted") {
		t.Errorf("to a controller of another authority, the executor is: %v", err)
	}
	trust(t, stranger, otherCA, ca) // it would talk to the executor
	if err := call(t, address, stranger, time.Now); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("the controller of another authority: %v", err)
	}
	testutil.Eventually(t, "the log says who was refused", func() bool { return log.has("certificate signed by unknown authority") })

	past := func() time.Time { return time.Now().Add(-50 * time.Hour) }
	expired := issue(t, ca, identity.RoleController, "c1")
	reissue(t, ca, identity.RoleController, "c1", expired, past)
	if err := call(t, address, expired, time.Now); err == nil || !strings.Contains(err.Error(), "expired at") || !strings.Contains(err.Error(), expired.Certificate) {
		t.Errorf("one whose certificate has expired is told %v", err)
	}
	if err := call(t, address, expired, past); err == nil {
		t.Error("one whose clock hides that its certificate has expired was let in")
	}

	if err := call(t, address, issue(t, ca, identity.RoleExecutor, "n2"), time.Now); err == nil || !strings.Contains(err.Error(), "for the role controller is needed") {
		t.Errorf("an executor that calls is told %v", err)
	}
}

// Only callers on the node may give a sandbox or an execution the node's own files and devices.
func TestControllersHaveNothingOfTheNode(t *testing.T) {
	ca := authority(t)
	address, _ := serveTLS(t, issue(t, ca, identity.RoleExecutor, "n1"), time.Now)
	source, err := identity.Open(issue(t, ca, identity.RoleController, "c1"), identity.RoleController, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client, err := api.NewTLSClient(address, "n1", source)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.CreateSandbox(t.Context(), yurt.SandboxSpec{ID: "sbx_a", Host: &yurt.HostAccess{Mounts: []yurt.Mount{{Source: "/etc", Target: "/x"}}}})
	if yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("a mount of the node's was not refused: %v", err)
	}
	for _, spec := range []yurt.ExecutionSpec{
		{ID: "exe_a", Endless: true}, {ID: "exe_a", Streamed: true}, {ID: "exe_a", User: &yurt.User{UID: 1, GID: 1}}, {ID: "exe_a", Logs: &yurt.LogFiles{Base: "/var/log"}},
	} {
		if err := client.StartExecution(t.Context(), "sbx_a", spec); yurt.CodeOf(err) != yurt.CodeForbidden {
			t.Errorf("%+v was not refused: %v", spec, err)
		}
	}
}

// Certificates that the authority would never issue are refused too, in case that its key was misused.
func TestCertificatesThatAreNoControllers(t *testing.T) {
	ca := authority(t)
	address, log := serveTLS(t, issue(t, ca, identity.RoleExecutor, "n1"), time.Now)
	client, server := x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth
	for _, tt := range []struct {
		name  string
		uris  []string
		usage x509.ExtKeyUsage
		ok    bool
		log   string
	}{
		{"a controller", []string{"spiffe://yurt/controller/c1"}, client, true, ""},
		{"an executor", []string{"spiffe://yurt/executor/n2"}, client, false, "only a controller may call"},
		{"a controller that serves", []string{"spiffe://yurt/controller/c1"}, server, false, "incompatible key usage"},
		{"nobody", nil, client, false, "it has 0 URIs"},
		{"two at once", []string{"spiffe://yurt/controller/c1", "spiffe://yurt/controller/c2"}, client, false, "it has 2 URIs"},
		{"one of elsewhere", []string{"spiffe://yurt.example/controller/c1"}, client, false, "names no part of Yurt"},
		{"one that hides in a path", []string{"spiffe://yurt/controller/../executor/n1"}, client, false, "names no part of Yurt"},
	} {
		config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{forge(t, ca, tt.uris, tt.usage)}}
		conn, err := tls.Dial("tcp", address, config)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		// The server speaks first, once it has let the caller in.
		if _, err := conn.Read(make([]byte, 1)); tt.ok != (err == nil) {
			t.Errorf("%s: %v", tt.name, err)
		}
		conn.Close()
		testutil.Eventually(t, tt.name+" is in the log", func() bool { return log.has(tt.log) })
	}
}

// forge makes a certificate with the key of an authority.
func forge(t *testing.T, ca string, uris []string, usage x509.ExtKeyUsage) tls.Certificate {
	t.Helper()
	issuer, err := tls.LoadX509KeyPair(filepath.Join(ca, identity.AuthorityFile), filepath.Join(ca, identity.AuthorityKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	for _, text := range uris {
		uri, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, uri)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.Leaf, key.Public(), issuer.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestWhoMayAnswer(t *testing.T) {
	ca := authority(t)
	files := issue(t, ca, identity.RoleController, "c1")
	other, _ := serveTLS(t, issue(t, ca, identity.RoleExecutor, "n2"), time.Now)
	if err := call(t, other, files, time.Now); err == nil || !strings.Contains(err.Error(), "it was to be spiffe://yurt/executor/n1, and is spiffe://yurt/executor/n2") {
		t.Errorf("another node answers: %v", err)
	}
	past := func() time.Time { return time.Now().Add(-50 * time.Hour) }
	old := issue(t, ca, identity.RoleExecutor, "n1")
	reissue(t, ca, identity.RoleExecutor, "n1", old, past)
	expired, _ := serveTLS(t, old, past) // its clock is wrong
	if err := call(t, expired, files, time.Now); err == nil || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("the executor's certificate has expired: %v", err)
	}
}

func TestPlainTextIsRefused(t *testing.T) {
	address, _ := serveTLS(t, issue(t, authority(t), identity.RoleExecutor, "n1"), time.Now)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(conn); err == nil && bytes.Contains(answer.Bytes(), []byte("\x00\x00\x00\x04")) {
		t.Errorf("it was answered with %q", answer.Bytes())
	}
}

// Certificates and authorities are replaced while the executor serves: open connections stay, and new ones use the new
// files.
func TestRotationWhileServing(t *testing.T) {
	first, second := authority(t), authority(t)
	executor := issue(t, first, identity.RoleExecutor, "n1")
	controller := issue(t, first, identity.RoleController, "c1")
	address, _ := serveTLS(t, executor, time.Now)
	source, err := identity.Open(controller, identity.RoleController, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	open, err := api.NewTLSClient(address, "n1", source)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"nothing yet", func() {}},
		{"the controller renews", func() { reissue(t, first, identity.RoleController, "c1", controller, time.Now) }},
		{"the executor renews", func() { reissue(t, first, identity.RoleExecutor, "n1", executor, time.Now) }},
		{"both trust a second authority", func() { trust(t, executor, first, second); trust(t, controller, first, second) }},
		{"the executor is of the second", func() { reissue(t, second, identity.RoleExecutor, "n1", executor, time.Now) }},
		{"the controller too", func() { reissue(t, second, identity.RoleController, "c1", controller, time.Now) }},
		{"the first is trusted no more", func() { trust(t, executor, second); trust(t, controller, second) }},
	} {
		step.do()
		if err := call(t, address, controller, time.Now); err != nil {
			t.Errorf("%s: a new connection: %v", step.what, err)
		}
		if _, err := open.Describe(t.Context()); err != nil {
			t.Errorf("%s: the open connection: %v", step.what, err)
		}
	}
	if err := call(t, address, issue(t, first, identity.RoleController, "c1"), time.Now); err == nil {
		t.Error("who has the first authority's certificate is let in")
	}
}
