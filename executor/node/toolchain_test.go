package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestToolchainsHaveTheirFiles runs Java and Go in a template that names the runtimes without their files.
func TestToolchainsHaveTheirFiles(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	spec := testutil.Spec()
	spec.Template.Runtimes = []string{"python", "java", "go"}
	spec.Template.Env = map[string]string{"PATH": "/usr/bin:/bin"}
	spec.Env = spec.Template.Env // as a session has it
	spec.Resources.Memory, spec.Resources.PIDs = 1<<30, 512
	s, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	java := testutil.Python(`System.out.println(java.security.Security.getProviders().length > 0);`, func(s *yurt.ExecutionSpec) { s.Language = "java" })
	if r := testutil.Execute(t, e, s.ID, java); r.ExitCode != 0 || r.Stdout != "true\n" {
		t.Errorf("Java, which reads /etc/java-*: exit code %d, stdout %q, want 0 and \"true\\n\"\n%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	r := testutil.Run(t, e, s.ID, "go version; echo $PATH")
	if r.ExitCode != 0 || !strings.HasPrefix(r.Stdout, "go version") || !strings.HasSuffix(r.Stdout, ":/usr/bin:/bin:/usr/local/go/bin\n") {
		t.Errorf("the command go: exit code %d, stdout %q, want a version and a PATH that ends with /usr/local/go/bin\n%s", r.ExitCode, r.Stdout, r.Stderr)
	}
}

// TestToolchainsGetOnlyTheOffered has an operator that offers no file of /etc.
func TestToolchainsGetOnlyTheOffered(t *testing.T) {
	t.Parallel()
	config := testutil.Config(t, testutil.Build(t))
	config.HostPaths = slices.DeleteFunc(yurt.OfferedHostPaths(), func(p string) bool { return strings.HasPrefix(p, "/etc/java") })
	e := testutil.Start(t, config)
	spec := testutil.Spec()
	spec.Template.Runtimes = []string{"java"}
	s, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	r := testutil.Run(t, e, s.ID, "ls /etc")
	if r.ExitCode != 0 || strings.Contains(r.Stdout, "java") || !strings.Contains(r.Stdout, "ssl") {
		t.Errorf("/etc has %q, want nothing of Java, which the operator does not offer", r.Stdout)
	}
}
