package faults

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/yurtrun/yurt/test/leftovers"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestCallsWaitForTheNextExecutor: a client that connects after kill -9 of the executor is answered by the next one, at the same address. So
// it is at a port below 1024, for which an executor has no power.
func TestCallsWaitForTheNextExecutor(t *testing.T) {
	testutil.NeedsSandboxes(t)
	for name, address := range map[string]string{"any port": "127.0.0.1:0", "a port of root's": privileged(t)} {
		t.Run(name, func(t *testing.T) {
			broker, url := startDev(t, address)
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
			for range 3 {
				killAlone(t, broker)
				response, err := client.Get(url + "/health")
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				if response.StatusCode != http.StatusOK {
					t.Errorf("the next executor answers %s", response.Status)
				}
			}
		})
	}
}

// privileged returns an address whose port is free and below 1024.
func privileged(t *testing.T) string {
	t.Helper()
	for port := 1023; port > 600; port-- {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address); err == nil {
			listener.Close()
			return address
		}
	}
	t.Fatal("no port below 1024 is free")
	return ""
}

// startDev starts yurt dev until the test ends, and returns the process and the URL at which it answers.
func startDev(t *testing.T, address string) (broker int, url string) {
	t.Helper()
	cmd := exec.Command(testutil.BuildYurt(t, "yurt-v1", "v1"), "dev", "--json", "--listen", address, "--state-dir", t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	var announced struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(out).Decode(&announced); err != nil || !strings.HasPrefix(announced.URL, "http://127.0.0.1:") {
		t.Fatalf("yurt dev announces %+v, %v", announced, err)
	}
	return cmd.Process.Pid, announced.URL
}

// killAlone kills the executor of the broker, and returns when it is gone.
func killAlone(t *testing.T, broker int) {
	t.Helper()
	executor, err := leftovers.Executor(broker, 0, patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(executor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "the executor is gone", func() bool { return syscall.Kill(executor, 0) != nil })
}
