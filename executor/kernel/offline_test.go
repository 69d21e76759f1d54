package kernel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestInstallersOffline: a package manager that is run in a sandbox without a network fails at once, and standard
// error names another way; the errors of other failing commands stay unchanged.
func TestInstallersOffline(t *testing.T) {
	t.Parallel()
	config := testutil.Config(t, testutil.Build(t))
	config.Packages.Off = true
	e := testutil.Start(t, config)
	n := &notebook{t, e, testutil.Create(t, e, runs("bash")).ID}
	const fake = "pip() { echo trying $PIP_RETRIES $NPM_CONFIG_FETCH_RETRIES $CARGO_NET_RETRY; return 1; }; "
	for line, hinted := range map[string]bool{
		fake + "pip install x":                                     true,
		fake + "cd /tmp && pip install x":                          true,
		fake + "pip install x || true":                             false,
		fake + "pip freeze":                                        false,
		"echo goes get; false":                                     false,
		"python3 -m pip install x 2>/dev/null || exit 3":           true,
		"cargo() { return 101; }; cargo add itoa":                  true,
		"mvn() { return 1; }; mvn dependency:get -Dartifact=a:b:1": true,
	} {
		r := testutil.Run(t, n.e, n.sandbox, line)
		if got := strings.Contains(r.Stderr, `"dependencies"`); got != hinted || r.Metrics.StderrBytes != int64(len(r.Stderr)) {
			t.Errorf("%s: hinted %t, want %t (exit code %d, %d bytes of stderr, %q)", line, got, hinted, r.ExitCode, r.Metrics.StderrBytes, r.Stderr)
		}
		if strings.Contains(line, "trying") && !strings.Contains(line, "freeze") && r.Stdout != "trying 0 0 0\n" {
			t.Errorf("%s: stdout %q", line, r.Stdout)
		}
	}
	if r := n.run("npm() { return 1; }\nnpm ci", bash); !strings.Contains(r.Stderr, "npm can install nothing") {
		t.Errorf("in a context: %q", r.Stderr)
	}
	begun := time.Now()
	spec := testutil.Command("/usr/bin/python3 -m pip download humanize")
	r := testutil.Execute(t, n.e, n.sandbox, spec)
	if took := time.Since(begun); r.ExitCode == 0 || !strings.Contains(r.Stderr, "this session has no network") || took > 20*time.Second {
		t.Errorf("pip ended with %d after %s: %q", r.ExitCode, took, r.Stderr)
	}
}
