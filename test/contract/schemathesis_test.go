package contract_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/testutil"
)

// checker is the program that makes requests by the document and holds the answers to it.
const checker = "schemathesis==4.32.5"

// TestSchemathesis has schemathesis send the examples of the document and the bounds of each member.
func TestSchemathesis(t *testing.T) {
	startChecker(t).run(t, nil, "--phases", "examples,coverage", "--generation-deterministic")
}

// schemaChecker runs schemathesis on a server that installs no packages: a made-up request is not
// to reach a registry.
type schemaChecker struct {
	python, testdata, dir, url string
}

func startChecker(t *testing.T) *schemaChecker {
	t.Helper()
	tools := venv(t, checker)
	testutil.NeedsSandboxes(t)
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, mirror := range []string{"PIP_INDEX_URL", "NPM_CONFIG_REGISTRY", "GOPROXY", "YURT_CARGO_INDEX", "YURT_MAVEN_MIRROR"} {
		t.Setenv(mirror, "")
	}
	program := testutil.BuildYurt(t, "yurt", "test")
	server, err := devserver.Run(context.WithoutCancel(t.Context()), program, t.TempDir(), "dev", "--listen", "127.0.0.1:0", "--packages-from", "none")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	// The scripts of the environment name the directory that it was made in, the interpreter does not.
	return &schemaChecker{filepath.Join(tools, "bin", "python"), testdata, t.TempDir(), server.URL}
}

// run checks the server. The configuration and the hooks say which findings are allowed.
func (c *schemaChecker) run(t *testing.T, env []string, flags ...string) {
	t.Helper()
	argv := []string{
		c.python, "-B", "-m", "schemathesis.cli", "--config-file", filepath.Join(c.testdata, "schemathesis.toml"),
		"run", c.url + "/openapi.json", "--continue-on-failure", "--request-timeout", "60", "--suppress-health-check", "all", "--no-color",
	}
	env = append(env, "SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH="+c.testdata, "ANSWERS="+c.answers())
	run(t, c.dir, env, append(argv, flags...)...)
}

// answers is the file that the hooks list operations in that succeeded, one a line.
func (c *schemaChecker) answers() string { return filepath.Join(c.dir, "answers") }
