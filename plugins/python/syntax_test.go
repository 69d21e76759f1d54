package python_test

import (
	"os/exec"
	"strings"
	"testing"
)

// untouched has the translator read every module of the standard library, and says which it does
// not leave as it is. Code that is Python never comes to the translator; that it would survive it
// shows that a cell with one magic in it keeps the rest.
const untouched = `
import glob, os, sys
sys.path.insert(0, ".")
import syntax

count = 0
for path in sorted(glob.glob(os.path.dirname(os.__file__) + "/**/*.py", recursive=True)):
    try:
        with open(path, encoding="utf-8") as file:
            source = file.read().replace("\r\n", "\n")
        compile(source, path, "exec")
    except (SyntaxError, UnicodeDecodeError, ValueError):
        continue
    count += 1
    for before, after in ("", ""), ("%time x\n", "\nname?\n"):
        made, changed = syntax.Reader(before + source.rstrip("\n") + after).translate()
        lines = made.split("\n")[1:-2] if before else made.split("\n")
        if lines != source.rstrip("\n").split("\n") or len(changed) != (2 if before else 0):
            print(path, "is changed in lines", changed)
print(count > 300 or count)
`

func TestPythonIsUntouched(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), interpreter(), "-W", "ignore", "-c", untouched)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "True" {
		t.Errorf("%v\n%s", err, out)
	}
}

// endless is text that a translator which looks back and forth would take very long for.
const endless = `
import sys, time
sys.path.insert(0, ".")
import syntax

for text in ("'" * 300000, '"""' + "\\" * 300000, "a=" * 200000, "?" * 200000, "(" * 300000 + "?", "%x\n" * 50000, "!a \\\n" * 50000, " " * 300000 + "?", "a." * 100000 + "?", "x[" * 50000 + "?", "a?\n" * 20000, "[?" * 50000):
    begun = time.monotonic()
    syntax.translate(text)
    if time.monotonic() - begun > 10:
        print(repr(text[:20]), "takes", time.monotonic() - begun)
`

func TestTranslationIsBounded(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), interpreter(), "-c", endless).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
