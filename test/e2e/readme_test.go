package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block returns the first fenced block of the README that hold the text.
func block(t *testing.T, language, holding string) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		if strings.Contains(found[1], holding) {
			return found[1]
		}
	}
	t.Fatalf("the README has no %s block that holds %q any more; correct this test", language, holding)
	return ""
}

// bash runs a script in dir, with variables, and wants it to succeed.
func bash(t *testing.T, dir, script string, env ...string) string {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\nof the script:\n%s", err, out, script)
	}
	return string(out)
}

func TestReadmeRun(t *testing.T) {
	needsSandboxes(t)
	console := block(t, "console", "cat handler.py")
	source, rest, ok := strings.Cut(strings.TrimPrefix(console, "$ cat handler.py\n"), "\n$ ")
	command, want, ok2 := strings.Cut(rest, "\n")
	if !ok || !ok2 {
		t.Fatalf("this block is not a file and one command:\n%s", console)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "handler.py"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got := bash(t, dir, strings.Replace(command, "bin/yurt", binary(t, "yurt"), 1))
	clock := regexp.MustCompile(`"left_ms": \d+`)
	if got = clock.ReplaceAllString(got, "$$"); got != clock.ReplaceAllString(want, "$$") {
		t.Errorf("%s printed\n%s\nand the README says\n%s", command, got, want)
	}
}

func TestReadmeREST(t *testing.T) {
	client, server := serveProcess(t)
	session := create(t, client, "python-basic")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data.csv"), []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := block(t, "sh", "YURT=http://127.0.0.1:8700/api/v1")
	for old, replacement := range map[string]string{
		"YURT=http://127.0.0.1:8700/api/v1": "YURT=" + server.URL + "/api/v1",
		"ID=ses_…":                          "ID=" + session.ID,
		"sleep 5;":                          "sleep 0.1;",
		"curl $YURT/sessions/$ID/result":    "sleep 1; curl $YURT/sessions/$ID/result",
	} {
		if !strings.Contains(script, old) {
			t.Errorf("the block holds no %q any more; correct this test", old)
		}
		script = strings.ReplaceAll(script, old, replacement)
	}
	out := bash(t, dir, "curl() { command curl --silent --show-error --fail-with-body \"$@\"; echo; }\n"+script)
	for _, want := range []string{`"stdout":"42\n"`, `"hello":"world"`, "event: ended", `"state":"running"`, `"stdout":"done\n"`, "a,b\n1,2\n", `"state":"terminated"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the output of the README's requests lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestReadmeTemplate(t *testing.T) {
	needsSandboxes(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "small.hcl"), []byte(block(t, "hcl", "small-python")), 0o600); err != nil {
		t.Fatal(err)
	}
	yurt := binary(t, "yurt")
	if out := bash(t, dir, yurt+" template validate small.hcl"); out != "1 template is valid: small-python\n" {
		t.Error(out)
	}
	script := "import os\nprint(os.environ['GREETING'])\n"
	if err := os.WriteFile(filepath.Join(dir, "greet.py"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := bash(t, dir, fmt.Sprintf("%s run greet.py --template small.hcl", yurt)); out != "hello\n" {
		t.Error(out)
	}
}
