package node_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/selinux/go-selinux"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/doctor"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/test/testutil"
)

// seLinux are the labels that the policy of test/vm has for sandboxes.
func seLinux() lsm.Labels {
	return lsm.Labels{Process: "system_u:system_r:sandbox_t:s0", Files: "system_u:object_r:sandbox_file_t:s0"}
}

// secretLabel is that of files which the policy gives to no sandbox.
const secretLabel = "system_u:object_r:secret_t:s0"

// hasSELinux reports whether this machine enforces the policy of test/vm.
func hasSELinux(t *testing.T) bool {
	t.Helper()
	testutil.NeedsSandboxes(t)
	err := lsm.CheckLabels("", seLinux())
	if err != nil {
		testutil.Lacks(t, "SELinux with the policy of test/vm: "+err.Error())
	}
	return err == nil
}

// labelled starts an executor that gives sandboxes the labels.
func labelled(t *testing.T, config executor.Config) *executor.Executor {
	t.Helper()
	config.Transient, config.SELinux = true, seLinux()
	return testutil.Start(t, config)
}

// categories returns those that the sandbox has to itself, by its first process.
func categories(t *testing.T, s yurt.Sandbox) string {
	t.Helper()
	label, err := selinux.PidLabel(s.PID)
	own, ok := strings.CutPrefix(label, seLinux().Process+":")
	if err != nil || !ok || !strings.Contains(own, ",") {
		t.Fatalf("yurt-init is under %q, %v", label, err)
	}
	return own
}

// wantWork fails the test unless the sandbox can do a sandbox's usual work.
func wantWork(t *testing.T, e *executor.Executor, s yurt.Sandbox) {
	t.Helper()
	own := categories(t, s)
	r := testutil.Run(t, e, s.ID, `tr -d '\0' < /proc/self/attr/current; echo; echo kept > /workspace/out; echo kept > /tmp/out && cat /tmp/out; df /workspace > /dev/null && echo sized`)
	if want := seLinux().Process + ":" + own + "\nkept\nsized\n"; r.Stdout != want || r.Stderr != "" {
		t.Errorf("a run says %q, %q, want %q", r.Stdout, r.Stderr, want)
	}
	if _, err := e.WriteFile(t.Context(), s.ID, "in", strings.NewReader("text"), yurt.WriteOptions{}); err != nil {
		t.Errorf("writing a file: %v", err)
	}
	if r := testutil.Run(t, e, s.ID, "cat in && echo more >> in && mkdir dir && mv in dir/in"); r.Stdout != "text" || r.ExitCode != 0 {
		t.Errorf("a file of the API: %q, %q", r.Stdout, r.Stderr)
	}
	file, _, err := e.ReadFile(t.Context(), s.ID, "dir/in", yurt.Span{})
	if err != nil {
		t.Errorf("reading a file: %v", err)
		return
	}
	defer file.Close()
	if text, err := io.ReadAll(file); err != nil || string(text) != "textmore\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	made, err := selinux.FileLabel(fmt.Sprintf("/proc/%d/root/workspace/out", s.PID))
	if want := seLinux().Files + ":" + own; err != nil || made != want {
		t.Errorf("a file of the workspace has the label %q, %v, want %q", made, err, want)
	}
}

// TestSELinuxLabels: all processes of a sandbox are under the label that the operator gave, with
// categories of the sandbox's own, and work as ever.
func TestSELinuxLabels(t *testing.T) {
	if !hasSELinux(t) {
		return
	}
	e := labelled(t, testutil.Config(t, testutil.Build(t)))
	plain, layers, image := testutil.Create(t, e), layered(t, e), testutil.Create(t, e, onImage)
	for _, s := range []yurt.Sandbox{plain, layers, image} {
		wantWork(t, e, s)
	}
	for range 3 { // of which later ones are forks
		if r := testutil.Execute(t, e, plain.ID, testutil.Python("import resource\nprint('hello', resource.getrlimit(resource.RLIMIT_CORE))")); r.Stdout != "hello (1, 1)\n" {
			t.Errorf("python says %q, %q, %+v", r.Stdout, r.Stderr, r.Error)
		}
	}
	if categories(t, plain) == categories(t, layers) {
		t.Error("two sandboxes have the same categories")
	}
	r := testutil.Run(t, e, plain.ID, "echo system_u:system_r:host_t:s0 > /proc/self/attr/current || echo kept")
	if r.Stdout != "kept\n" {
		t.Errorf("a process leaves its label: %q, %q", r.Stdout, r.Stderr)
	}
}

// TestSELinuxAndQuotas: a workspace on the node's disk gets the label too.
func TestSELinuxAndQuotas(t *testing.T) {
	if !hasSELinux(t) {
		return
	}
	onQuotas(t, func(t *testing.T, config executor.Config, _ string) {
		e := labelled(t, config)
		wantWork(t, e, testutil.Create(t, e, byQuota))
	})
}

// shared makes a directory of the host's that any user may write to, and shows it to sandboxes. The files in it have
// labels of SELinux's.
func shared(t *testing.T, labels map[string]string) func(*yurt.SandboxSpec) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, label := range labels {
		path := filepath.Join(dir, name)
		if name != "." {
			if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := selinux.SetFileLabel(path, label); err != nil {
			t.Fatal(err)
		}
	}
	return withHost(yurt.HostAccess{Mounts: []yurt.Mount{{Source: dir, Target: "/data"}}})
}

// TestSELinuxDenies: SELinux denies access that modes allow: to a file of the host's by its type, and to another
// sandbox's by its categories.
func TestSELinuxDenies(t *testing.T) {
	if !hasSELinux(t) {
		return
	}
	data := shared(t, map[string]string{".": seLinux().Files, "public": seLinux().Files, "secret": secretLabel})
	const read = "cat /data/public /data/secret"
	without := testutil.Executor(t)
	free := testutil.Create(t, without, data)
	if r := testutil.Run(t, without, free.ID, read); r.Stdout != "publicsecret" {
		t.Errorf("without labels: %q, %q", r.Stdout, r.Stderr)
	}
	e := labelled(t, testutil.Config(t, testutil.Build(t)))
	a, b := testutil.Create(t, e, data), testutil.Create(t, e, data)
	if r := testutil.Run(t, e, a.ID, read); r.Stdout != "public" || !strings.Contains(r.Stderr, "/data/secret: Permission denied") {
		t.Errorf("with a label: %q, %q", r.Stdout, r.Stderr)
	}
	if r := testutil.Run(t, e, a.ID, "echo mine > /data/file && chmod 666 /data/file && cat /data/file"); r.Stdout != "mine\n" {
		t.Errorf("its own file: %q, %q", r.Stdout, r.Stderr)
	}
	if r := testutil.Run(t, e, b.ID, "cat /data/file; echo x >> /data/file"); r.Stdout != "" || strings.Count(r.Stderr, "Permission denied") != 2 {
		t.Errorf("another's file: %q, %q", r.Stdout, r.Stderr)
	}
	if r := testutil.Run(t, without, free.ID, "cat /data/file"); r.Stdout != "mine\n" {
		t.Errorf("another's file, without labels: %q, %q", r.Stdout, r.Stderr)
	}
	// Or the end of the other executor would find it left behind.
	if err := without.DestroySandbox(t.Context(), free.ID); err != nil {
		t.Error(err)
	}
}

// TestSELinuxThatIsNotEnforced: labels that would not protect are refused, and the doctor reports the state of SELinux.
func TestSELinuxThatIsNotEnforced(t *testing.T) {
	if !hasSELinux(t) {
		return
	}
	good := seLinux()
	for name, tt := range map[string]struct {
		labels lsm.Labels
		want   yurt.Code
	}{
		"unknown to the policy":       {lsm.Labels{Process: "system_u:system_r:other_t:s0", Files: good.Files}, yurt.CodeNotSupported},
		"files unknown to the policy": {lsm.Labels{Process: good.Process, Files: "system_u:object_r:other_t:s0"}, yurt.CodeNotSupported},
		"processes alone":             {lsm.Labels{Process: good.Process}, yurt.CodeInvalidArgument},
		"files alone":                 {lsm.Labels{Files: good.Files}, yurt.CodeInvalidArgument},
	} {
		if err := lsm.CheckLabels("", tt.labels); yurt.CodeOf(err) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantDoctor(t, "--selinux-label")
	if err := selinux.SetEnforceMode(selinux.Permissive); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := selinux.SetEnforceMode(selinux.Enforcing); err != nil {
			t.Error(err)
		}
	})
	if err := lsm.CheckLabels("", good); yurt.CodeOf(err) != yurt.CodeNotSupported {
		t.Errorf("permissive: %v", err)
	}
	wantDoctor(t, "permissive")
}

func wantDoctor(t *testing.T, want string) {
	t.Helper()
	for _, f := range doctor.Examine(t.Context()) {
		if f.Mechanism == "mandatory access control" && !strings.Contains(f.Detail, want) {
			t.Errorf("the doctor says %q, want %q in it", f.Detail, want)
		}
	}
}

// TestEachSandboxHasCategories: no two of those that a host can have share them, and all are among
// those of the policy's that operators are told of.
func TestEachSandboxHasCategories(t *testing.T) {
	had := make(map[string]bool)
	for base := uint32(idrange.First); base < idrange.End; base += idrange.Size {
		l := seLinux().For(idrange.Number(base))
		var low, high int
		_, err := fmt.Sscanf(l.Process, seLinux().Process+":c%d,c%d", &low, &high)
		if err != nil || low < 0 || low >= high || high > 127 || had[l.Process] {
			t.Fatalf("%d is under %q, %v", base, l.Process, err)
		}
		if l.Files != strings.Replace(l.Process, seLinux().Process, seLinux().Files, 1) {
			t.Fatalf("processes are under %q, files under %q", l.Process, l.Files)
		}
		had[l.Process] = true
	}
	for _, label := range []string{"u:r:t", "u:r:t:s0:c1,c2", "u:r:t:s0-s0:c0.c9", "t", ""} {
		if l := (lsm.Labels{Process: label}).For(7); l.Process != label {
			t.Errorf("%q becomes %q", label, l.Process)
		}
	}
}
