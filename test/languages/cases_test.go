//go:build long

package languages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
)

// A file of cases has the cases of one language. "=== NAME" begins a case; its code follows. Lines that begin with
// "--- " begin the other parts of a case:
//
//	--- file PATH     a file of the project; with one, "--- entry PATH" names the file to run instead of the code
//	--- args WORDS    arguments of the program
//	--- stdin         standard input
//	--- env NAME=TEXT a variable of the execution
//	--- want          the expected outcome, and then the standard output, to the letter
//	--- cell          another piece of code for the same context
//
// Lines of the form "! KIND TEXT" directly behind "--- want" are the expected outcome beside the output: "! result JSON",
// "! shown TEXT" (the last display's text), "! error TYPE: MESSAGE" (one that ends with … is the beginning of a message), "! at FRAME" (the last line of
// the stack), "! stderr PART", "! exit CODE" and "! lost" (the state is). Without "! error" there must be no error.
type testCase struct {
	name  string
	cells []testCell
}

type testCell struct {
	spec   yurt.ExecutionSpec
	stdout string
	wants  []string // KIND TEXT
}

// readCases reads a file of cases.
func readCases(t *testing.T, file string) []testCase {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []testCase
	var part *bytes.Buffer
	end := func() {}
	for number, line := range strings.SplitAfter(string(data), "\n") {
		name, isCase := strings.CutPrefix(line, "=== ")
		marker, isPart := strings.CutPrefix(line, "--- ")
		if !isCase && !isPart {
			if part == nil && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
				t.Fatalf("%s:%d: %q is in no case", file, number+1, line)
			}
			if part != nil {
				part.WriteString(line)
			}
			continue
		}
		end()
		part = &bytes.Buffer{}
		if isCase {
			cases = append(cases, testCase{name: strings.TrimSpace(name)})
			marker = "cell"
		}
		c := &cases[len(cases)-1]
		if marker = strings.TrimSpace(marker); marker == "cell" {
			c.cells = append(c.cells, testCell{spec: yurt.ExecutionSpec{Kind: yurt.KindCode}})
		}
		where := fmt.Sprintf("%s:%d", file, number+1)
		end = func() { c.cells[len(c.cells)-1].take(t, where, marker, part.String()) }
	}
	end()
	return cases
}

// take puts a part into the cell.
func (c *testCell) take(t *testing.T, where, marker, text string) {
	t.Helper()
	word, rest, _ := strings.Cut(marker, " ")
	switch word {
	case "cell":
		c.spec.Code = strings.TrimSuffix(text, "\n")
	case "file":
		c.spec.Files = append(c.spec.Files, yurt.SourceFile{Path: rest, Data: []byte(text)})
	case "entry":
		c.spec.Entry = rest
	case "args":
		c.spec.Args = strings.Fields(rest)
	case "stdin":
		c.spec.Stdin = []byte(text)
	case "env":
		name, value, _ := strings.Cut(rest, "=")
		c.spec.Env = map[string]string{name: value}
	case "want":
		for strings.HasPrefix(text, "! ") {
			var line string
			line, text, _ = strings.Cut(text, "\n")
			c.wants = append(c.wants, line[2:])
		}
		c.stdout = strings.TrimRight(text, "\n")
	default:
		t.Fatalf("%s: there is no part %q", where, word)
	}
}

// try runs the cells of a case, one after the other; in a context, where there is a name for one.
func (c testCase) try(t *testing.T, e *executor.Executor, sandbox, language, context string) {
	t.Helper()
	for i, cell := range c.cells {
		cell.spec.Language, cell.spec.ContextName = language, context
		if cell.spec.Entry != "" {
			cell.spec.Cwd = path.Join("/workspace", strings.ReplaceAll(c.name, " ", "-"))
		}
		r := execute(t, e, sandbox, cell.spec)
		if problems := cell.compare(r); len(problems) > 0 {
			t.Errorf("piece %d:\n%s\n%s\nstandard error:\n%s", i+1, cell.spec.Code, strings.Join(problems, "\n"), r.Stderr)
			return
		}
	}
}

// compare returns the differences between a result and the expected one.
func (c *testCell) compare(r *yurt.Result) []string {
	var problems []string
	differs := func(what, got, want string) {
		if got != want {
			problems = append(problems, fmt.Sprintf("%s is\n%s\nwant\n%s", what, got, want))
		}
	}
	differs("standard output", strings.TrimRight(r.Stdout, "\n"), c.stdout)
	failed, exit := false, 0
	for _, want := range c.wants {
		what, text, _ := strings.Cut(want, " ")
		switch what {
		case "result":
			differs("the result", compact(r.Result), compact([]byte(text)))
		case "shown":
			differs("what is shown", lastShown(r), strings.ReplaceAll(text, `\n`, "\n"))
		case "error":
			failed = true
			got := "no error"
			if r.Error != nil {
				got = r.Error.Type + ": " + r.Error.Message
			}
			if start, ok := strings.CutSuffix(text, "…"); ok && strings.HasPrefix(got, start) {
				got = text
			}
			differs("the error", got, text)
		case "at":
			if r.Error == nil || len(r.Error.Stacktrace) == 0 {
				problems = append(problems, "there is no stack; want "+text)
				continue
			}
			differs("the last frame", r.Error.Stacktrace[len(r.Error.Stacktrace)-1], text)
		case "stderr":
			if !strings.Contains(r.Stderr, text) {
				problems = append(problems, fmt.Sprintf("standard error has no %q", text))
			}
		case "exit":
			exit, _ = strconv.Atoi(text)
			differs("the exit code", strconv.Itoa(r.ExitCode), text)
		case "lost":
			if !r.StateLost {
				problems = append(problems, "the state is not lost")
			}
		default:
			problems = append(problems, "there is no expectation "+what)
		}
	}
	if !failed && (r.Error != nil || r.ExitCode != exit) {
		problems = append(problems, fmt.Sprintf("exit code %d, error %+v; want none", r.ExitCode, r.Error))
	}
	return problems
}

func compact(data []byte) string {
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		return string(data)
	}
	return out.String()
}

func lastShown(r *yurt.Result) string {
	if len(r.Displays) == 0 {
		return "nothing"
	}
	var text string
	if err := json.Unmarshal(r.Displays[len(r.Displays)-1]["text/plain"], &text); err != nil {
		return string(r.Displays[len(r.Displays)-1]["text/plain"])
	}
	return text
}

// caseFiles are the files of cases in a directory of testdata, by their languages.
func caseFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata/%s: %v", dir, err)
	}
	found := map[string]string{}
	for _, file := range files {
		found[strings.TrimSuffix(filepath.Base(file), ".txt")] = file
	}
	return found
}
