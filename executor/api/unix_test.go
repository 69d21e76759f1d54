package api_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/test/testutil"
)

// unreachable is a node that fails each call.
type unreachable struct{ api.Node }

func TestSocketIsItsOwnersAlone(t *testing.T) {
	client, socket := serve(t, unreachable{})
	info, err := os.Stat(socket)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	said, err := client.Describe(t.Context())
	if err != nil || said.Node != "test" || said.Version != "v1" || said.Announced == nil || *said.Announced {
		t.Errorf("it says %+v, %v", said, err)
	}
}

func TestSocketOfAnotherProcessIsLeftAlone(t *testing.T) {
	client, socket := serve(t, unreachable{})
	if _, err := api.ListenUnix(t.Context(), socket); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("it was taken away: %v", err)
	}
	if _, err := client.Describe(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSocketThatIsLeftOverIsReplaced(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	client := dial(t, socket)
	if _, err := client.Describe(t.Context()); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("nobody listens, and the answer is %v", err)
	}
	stop := serveAt(t, unreachable{}, socket)
	testutil.Eventually(t, "the client finds it", func() bool { // at its own pace
		_, err := client.Describe(t.Context())
		return err == nil
	})
	stop()
	if entries, err := os.ReadDir(filepath.Dir(socket)); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestSocketWhosePathIsTooLong(t *testing.T) {
	_, err := api.ListenUnix(t.Context(), "/tmp/"+strings.Repeat("x", 200))
	if yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("it is %v", err)
	}
}

// The mode of the file keeps others out, and so do the peer's credentials.
func TestOtherUsersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		if testing.Short() {
			t.Skip("becomes another user")
		}
		t.Fatal("this test becomes another user, which needs root")
	}
	dir, err := os.MkdirTemp("", "yurt-api-test-") // which other users can reach, unlike t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "caller")
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "sock")
	serveAt(t, unreachable{}, socket)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	call := func(uid uint32) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = append(os.Environ(), callerEnv+"="+socket)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if said := call(0); said != " <nil>\n" {
		t.Errorf("root is told %q", said)
	}
	if said := call(65534); !strings.HasPrefix(said, "unavailable") || !strings.Contains(said, "permission denied") {
		t.Errorf("with the mode as it is, another user is told %q", said)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	if said := call(65534); !strings.HasPrefix(said, "unavailable") {
		t.Errorf("with the file open to all, another user is told %q", said)
	}
}

func TestPanicIsTheErrorOfItsCall(t *testing.T) {
	client, _ := serve(t, unreachable{})
	if _, err := client.Runtimes(t.Context()); yurt.CodeOf(err) != yurt.CodeInternal {
		t.Errorf("the call: %v", err)
	}
	if _, err := client.Sandboxes(t.Context()); yurt.CodeOf(err) != yurt.CodeInternal {
		t.Errorf("the call with parts: %v", err)
	}
	if _, err := client.Describe(t.Context()); err != nil {
		t.Errorf("and others with it: %v", err)
	}
}
