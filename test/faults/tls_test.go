package faults

import (
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/identity"
	"github.com/yurtrun/yurt/test/testutil"
)

// A controller elsewhere, known by a certificate, uses an executor that is killed.
func TestControllerOverTLS(t *testing.T) {
	d, source, address := newTLSDaemon(t)
	remote, err := api.NewTLSClient(address, "test", source)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()

	s, err := remote.CreateSandbox(t.Context(), testutil.Spec())
	if err != nil {
		t.Fatal(err)
	}
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: []string{"/bin/sh", "-c", "for i in 1 2 3 4 5; do echo $i; sleep 0.3; done"},
		Timeout: yurt.Duration(time.Minute), OutputLimit: 1 << 20,
	}
	if err := remote.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	begun, ended := make(chan struct{}), make(chan error, 1)
	var seen []byte
	go func() {
		ended <- remote.WatchExecution(t.Context(), s.ID, spec.ID, 0, func(e yurt.Event) error {
			if e.Seq == 2 {
				close(begun)
			}
			seen = append(seen, e.Data...)
			return nil
		})
	}()
	<-begun
	d.stop(syscall.SIGKILL)
	d.start()
	if err := <-ended; err != nil || string(seen) != "1\n2\n3\n4\n5\n" {
		t.Errorf("the watch ended with %v and saw %q", err, seen)
	}
}

// newTLSDaemon starts an executor that listens for controllers, and returns the identity and the
// address to call it.
func newTLSDaemon(t *testing.T, args ...string) (d *daemon, controller *identity.Source, address string) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	dir := t.TempDir()
	program := testutil.BuildYurt(t, "yurt-v1", "v1")
	for _, args := range [][]string{{"ca", "init"}, {"ca", "issue", "executor", "test"}, {"ca", "issue", "controller", "c1"}} {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	address = "127.0.0.1:" + strconv.Itoa(freePort(t))
	file := func(name string) string { return filepath.Join(dir, name) }
	d = newDaemon(t, append(args, "--listen-tls", address,
		"--tls-ca", file("yurt-ca.pem"), "--tls-cert", file("executor-test.pem"), "--tls-key", file("executor-test-key.pem"))...)
	controller, err := identity.Open(identity.Files{
		Authorities: file("yurt-ca.pem"), Certificate: file("controller-c1.pem"), Key: file("controller-c1-key.pem"),
	}, identity.RoleController, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return d, controller, address
}

// freePort returns a port that is free now. The executor is to have the same one in each of its
// lives.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
