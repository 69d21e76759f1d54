package node_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestIsolation runs small programs that look for a way out. Each must fail, or see no data of the host.
func TestIsolation(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, line, want string }{
		{"runs as an ordinary user", "id -u; id -g; id -G", "1000\n1000\n1000\n"},
		{"has no capability", "grep -E '^Cap' /proc/self/status | awk '{print $2}' | sort -u", "0000000000000000\n"},
		{"cannot gain privileges", "grep NoNewPrivs /proc/self/status", "NoNewPrivs:\t1\n"},
		{"is under a seccomp filter", "grep -w Seccomp /proc/self/status", "Seccomp:\t2\n"},
		{"cannot become root", "su -c id 2>/dev/null || echo refused; sudo id 2>/dev/null || echo refused", "refused\nrefused\n"},
		{"sees no file of the host", "ls -d /root /home /var /etc/shadow /boot /mnt /srv /opt 2>/dev/null; echo end", "end\n"},
		{"cannot write outside its own", "for d in / /usr /etc /dev /run /run/yurt /proc /bin; do touch $d/x 2>/dev/null && echo $d; done; echo end", "end\n"},
		{"has a host name of its own", "hostname", "sandbox\n"},
		{"sees its own processes alone", "ps -e | wc -l", "5\n"}, // header, sh, sh or ps, wc, ps
		{"cannot see its init", "cat /proc/1/cmdline 2>&1 | head -c 100; ls /proc/1 2>&1 | grep -c root", "cat: /proc/1/cmdline: No such file or directory\n0\n"},
		{"cannot signal its init", "kill -9 1 2>/dev/null || echo refused", "refused\n"},
		{"has a loopback interface alone", "awk -F: 'NR>2 {print $1}' /proc/net/dev | tr -d ' '", "lo\n"},
		{"inherits no descriptor", "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 "}, // 3 is ls reading the directory
		{"cannot mount", "mount -t tmpfs x /tmp 2>/dev/null || echo refused", "refused\n"},
		{"cannot make namespaces", "unshare -U true 2>/dev/null || echo refused; unshare -r -m true 2>/dev/null || echo refused", "refused\nrefused\n"},
		{"cannot make devices", "mknod /tmp/d b 8 0 2>/dev/null || echo refused", "refused\n"},
		{"has timers as precise as anywhere", "cat /proc/self/timerslack_ns", "50000\n"},
		{"dumps no core", "ulimit -c", "0\n"},
		{"has seven devices", "ls /dev | grep -E -c '^(null|zero|full|random|urandom|tty|ptmx)$'", "7\n"},
		{"cannot load the kernel's knobs", "echo x > /proc/sys/kernel/core_pattern 2>/dev/null || echo refused; echo b > /proc/sysrq-trigger 2>/dev/null; echo end", "refused\nend\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "sees its own processes alone" {
				r := testutil.Run(t, e, s.ID, "ps -eo pid= | wc -l")
				if n := strings.TrimSpace(r.Stdout); n != "3" && n != "2" && n != "4" {
					t.Errorf("it sees %s processes", n)
				}
				return
			}
			if r := testutil.Run(t, e, s.ID, tt.line); r.Stdout != tt.want {
				t.Errorf("got %q (stderr %q), want %q", r.Stdout, r.Stderr, tt.want)
			}
		})
	}
	t.Run("cannot reach the host's network", func(t *testing.T) {
		code := fmt.Sprintf("import socket\ntry:\n  socket.create_connection(('127.0.0.1', %d), 2)\n  print('reached')\nexcept OSError as e: print('refused')", listener.Addr().(*net.TCPAddr).Port)
		if r := testutil.Execute(t, e, s.ID, testutil.Python(code)); r.Stdout != "refused\n" {
			t.Errorf("got %q %+v", r.Stdout, r.Error)
		}
	})
	t.Run("does not know the host's name", func(t *testing.T) {
		if r := testutil.Run(t, e, s.ID, "cat /proc/sys/kernel/hostname /etc/hostname"); strings.Contains(r.Stdout, host) {
			t.Errorf("it reads %q", r.Stdout)
		}
	})
}

func TestSandboxesDoNotShareAnIdentity(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	a, b := testutil.Create(t, e), testutil.Create(t, e)
	if hostRoot(t, a) == hostRoot(t, b) || hostRoot(t, a) == "0" {
		t.Errorf("host ids begin at %s and %s", hostRoot(t, a), hostRoot(t, b))
	}
}

// TestEachHasAKeyring: a sandbox has a session keyring, which belongs to its root and differs from that of the
// executor's starter.
func TestEachHasAKeyring(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	users, err := os.ReadFile("/proc/key-users")
	if errors.Is(err, os.ErrNotExist) {
		t.Log("this kernel has no keyrings")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	root := hostRoot(t, s)
	if !regexp.MustCompile(`(?m)^\s*` + root + `:\s+1 1/1 `).Match(users) {
		t.Errorf("its root is %s on the host, and keys have:\n%s", root, users)
	}
}

// hostRoot returns the id that root of the sandbox has on the host.
func hostRoot(t *testing.T, s yurt.Sandbox) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/uid_map", s.PID))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data))[1]
}

// TestHostPathsThatAreNotOffered: a template comes from an API caller, and must not choose the host's files that
// sandboxes see.
func TestHostPathsThatAreNotOffered(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	outside := t.TempDir()
	for path, want := range map[string]yurt.Code{
		outside: yurt.CodeForbidden, "/root": yurt.CodeForbidden, "/": yurt.CodeForbidden, "/etc/shadow": yurt.CodeForbidden,
		"/etc": yurt.CodeForbidden, "/proc/self/root/root": yurt.CodeForbidden, "/usr/../root": yurt.CodeTemplateInvalid,
	} {
		spec := testutil.Spec()
		spec.Template.RootFS.HostPaths = []string{"/usr", path}
		if _, err := e.CreateSandbox(t.Context(), spec); yurt.CodeOf(err) != want {
			t.Errorf("binding %s gave %v (%s), want %s", path, err, yurt.CodeOf(err), want)
		}
	}
	offered := testutil.Config(t, testutil.Build(t))
	offered.HostPaths = []string{"/usr", "/bin", "/lib", "/lib64", outside}
	link := outside + "/link"
	if err := os.Symlink("/root", link); err != nil {
		t.Fatal(err)
	}
	spec := testutil.Spec()
	spec.Template.RootFS.HostPaths = []string{"/usr", link}
	if _, err := testutil.Start(t, offered).CreateSandbox(t.Context(), spec); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("binding a link that leads out gave %v", err)
	}
}
