package node_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestLabelsThatTheHostHasNotAreRefused(t *testing.T) {
	testutil.NeedsSandboxes(t)
	for name, label := range map[string]func(*executor.Config){
		"AppArmor": func(c *executor.Config) { c.AppArmorProfile = "yurt-test-not-there" },
		"SELinux":  func(c *executor.Config) { c.SELinux = seLinux() },
	} {
		if name == "SELinux" && lsm.HasSELinux() {
			continue // it has
		}
		config := testutil.Config(t, testutil.Build(t))
		label(&config)
		if e, err := executor.New(config); yurt.CodeOf(err) != yurt.CodeNotSupported {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				e.Close()
			}
		}
	}
}

// hasAppArmor reports whether the kernel has AppArmor.
func hasAppArmor(t *testing.T) bool {
	t.Helper()
	testutil.NeedsSandboxes(t)
	if !lsm.HasAppArmor() {
		testutil.Lacks(t, "AppArmor")
		return false
	}
	return true
}

// loadProfile loads a profile of AppArmor's in a mode, under which all is allowed but to write
// one file.
func loadProfile(t *testing.T, mode string) (name string) {
	t.Helper()
	name = fmt.Sprintf("yurt-test-%s-%d", mode, os.Getpid())
	file := filepath.Join(t.TempDir(), "profile")
	text := "profile " + name + " flags=(attach_disconnected," + mode + ") {\n" +
		"file,\ncapability,\nnetwork,\nmount,\numount,\npivot_root,\nsignal,\nptrace,\nunix,\n" +
		"deny /workspace/denied w,\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	parse := func(option string) {
		t.Helper()
		if out, err := exec.Command("apparmor_parser", "--skip-cache", option, file).CombinedOutput(); err != nil { //nolint:noctx // also the end of a test waits for it
			t.Errorf("apparmor_parser %s (Debian: apt-get install apparmor): %v: %s", option, err, out)
		}
	}
	parse("--add")
	t.Cleanup(func() { parse("--remove") })
	return name
}

// TestAppArmorProfileThatIsNotEnforced is refused: such a profile only logs its findings, and allows them.
func TestAppArmorProfileThatIsNotEnforced(t *testing.T) {
	if !hasAppArmor(t) {
		return
	}
	config := testutil.Config(t, testutil.Build(t))
	config.AppArmorProfile = loadProfile(t, "complain")
	e, err := executor.New(config)
	if yurt.CodeOf(err) != yurt.CodeNotSupported || !strings.Contains(err.Error(), "mode complain") {
		t.Errorf("error %v", err)
	}
	if err == nil {
		e.Close()
	}
}

// TestAppArmorProfile: a sandbox's first process and all that it starts are under the profile
// that the operator gave.
func TestAppArmorProfile(t *testing.T) {
	if !hasAppArmor(t) {
		return
	}
	config := testutil.Config(t, testutil.Build(t))
	config.Transient, config.AppArmorProfile = true, loadProfile(t, "enforce")
	e := testutil.Start(t, config)
	label := config.AppArmorProfile + " (enforce)\n"
	for _, s := range []yurt.Sandbox{testutil.Create(t, e), layered(t, e)} {
		if init, err := os.ReadFile(fmt.Sprintf("/proc/%d/attr/current", s.PID)); err != nil || string(init) != label {
			t.Errorf("yurt-init is under %q, %v", init, err)
		}
		r := testutil.Run(t, e, s.ID, `cat /proc/self/attr/current; echo x > allowed && echo allowed; echo x > denied || echo refused
			echo 'changeprofile unconfined' > /proc/self/attr/current || echo kept`)
		if r.Stdout != label+"allowed\nrefused\nkept\n" || strings.Count(r.Stderr, "Permission denied") != 2 {
			t.Errorf("a run says %q, %q", r.Stdout, r.Stderr)
		}
	}
}
