package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/readme"
)

func TestReadmeRun(t *testing.T) {
	needsSandboxes(t)
	console := readme.Block(t, "console", "cat handler.py")
	source, rest, ok := strings.Cut(strings.TrimPrefix(console, "$ cat handler.py\n"), "\n$ ")
	command, want, ok2 := strings.Cut(rest, "\n")
	if !ok || !ok2 {
		t.Fatalf("this block is not a file and one command:\n%s", console)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "handler.py"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got := readme.Bash(t, dir, strings.Replace(command, "bin/yurt", binary(t, "yurt"), 1))
	clock := regexp.MustCompile(`"left_ms": \d+`)
	if got = clock.ReplaceAllString(got, "$$"); got != clock.ReplaceAllString(want, "$$") {
		t.Errorf("%s printed\n%s\nand the README says\n%s", command, got, want)
	}
}

func TestReadmeREST(t *testing.T) {
	client, server := serveProcess(t)
	readme.REST(t, server.URL, create(t, client, "python-basic").ID)
}

func TestReadmeCurl(t *testing.T) {
	client, server := serveProcess(t)
	script := readme.Block(t, "sh", "/sessions --json '{}'")
	script = strings.ReplaceAll(script, "http://127.0.0.1:8700", server.URL)
	script = strings.ReplaceAll(script, "ses_…", create(t, client, "default").ID)
	if out := readme.Bash(t, t.TempDir(), script); !strings.Contains(out, `"result":42`) {
		t.Errorf("the README's requests answered %s", out)
	}
}

func TestReadmeTemplate(t *testing.T) {
	needsSandboxes(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "small.hcl"), []byte(readme.Block(t, "hcl", "small-python")), 0o600); err != nil {
		t.Fatal(err)
	}
	yurt := binary(t, "yurt")
	if out := readme.Bash(t, dir, yurt+" template validate small.hcl"); out != "1 template is valid: small-python\n" {
		t.Error(out)
	}
	script := "import os\nprint(os.environ['GREETING'])\n"
	if err := os.WriteFile(filepath.Join(dir, "greet.py"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := readme.Bash(t, dir, fmt.Sprintf("%s run greet.py --template small.hcl", yurt)); out != "hello\n" {
		t.Error(out)
	}
}
