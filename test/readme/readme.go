// Package readme runs the commands that the README and other pages show, so that they stay true.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// Block returns the first fenced block of the README that holds the text.
func Block(t testing.TB, language, holding string) string {
	t.Helper()
	return BlockOf(t, "README.md", language, holding)
}

// BlockOf is Block for another page, such as docs/CLUSTER.md.
func BlockOf(t testing.TB, page, language, holding string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testutil.Root(t), page))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(found[1], holding) {
			return found[1]
		}
	}
	t.Fatalf("%s has no %s block that holds %q any more; correct this test", page, language, holding)
	return ""
}

// Bash runs a script in dir, with variables, and wants it to succeed.
func Bash(t testing.TB, dir, script string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\nof the script:\n%s", err, out, script)
	}
	return string(out)
}

// REST makes the requests of docs/REST.md to the server, in a session of the template
// python-basic, which they end.
func REST(t testing.TB, url, session string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data.csv"), []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := BlockOf(t, "docs/REST.md", "sh", "YURT=http://127.0.0.1:8700/api/v1")
	for old, replacement := range map[string]string{
		"YURT=http://127.0.0.1:8700/api/v1": "YURT=" + url + "/api/v1",
		"ID=ses_…":                          "ID=" + session,
		"sleep 5;":                          "sleep 0.1;",
		"curl $YURT/sessions/$ID/result":    "sleep 1; curl $YURT/sessions/$ID/result",
	} {
		if !strings.Contains(script, old) {
			t.Errorf("the block holds no %q any more; correct this test", old)
		}
		script = strings.ReplaceAll(script, old, replacement)
	}
	out := Bash(t, dir, "curl() { command curl --silent --show-error --fail-with-body \"$@\"; echo; }\n"+script)
	for _, want := range []string{`"stdout":"42\n"`, `"hello":"world"`, "event: ended", `"state":"running"`, `"stdout":"done\n"`, "a,b\n1,2\n", `"state":"terminated"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the output of the requests lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}
