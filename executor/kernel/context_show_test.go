package kernel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// shown returns a display's data of a MIME type, as text.
func shown(t *testing.T, d yurt.Display, mime string) string {
	t.Helper()
	var text string
	if err := json.Unmarshal(d[mime], &text); err != nil {
		t.Fatalf("%s is %s: %v", mime, d[mime], err)
	}
	return text
}

func TestDisplays(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	r := n.run(`
from IPython.display import display, HTML, Markdown, JSON, Latex, SVG, Image
class Everything:
    def _repr_html_(self): return "<b>é</b>"
    def _repr_latex_(self): return "$x$"
    def _repr_svg_(self): return "<svg/>"
    def _repr_json_(self): return {"a": [1, None]}
    def _repr_markdown_(self): raise ValueError("its own affair")
    def __repr__(self): return "everything"
display(HTML("<i>1</i>"), Markdown("*2*"))
display(JSON({"x": 1}))
display(Latex("$y$")); display(SVG("<svg></svg>")); display(Image(b"\x89PNG"))
Everything()`)
	if r.Error != nil || len(r.Displays) != 7 || r.MainDisplay == nil || *r.MainDisplay != 6 {
		t.Fatalf("%d displays, main %v, error %+v", len(r.Displays), r.MainDisplay, r.Error)
	}
	for i, want := range []struct{ mime, data string }{
		{"text/html", `"<i>1</i>"`},
		{"text/markdown", `"*2*"`},
		{"application/json", `{"x":1}`},
		{"text/latex", `"$y$"`},
		{"image/svg+xml", `"<svg/>"`},
		{"image/png", `"iVBORw=="`},
	} {
		var got, expected any
		if json.Unmarshal(r.Displays[i][want.mime], &got) != nil || json.Unmarshal([]byte(want.data), &expected) != nil || !jsonEqual(got, expected) {
			t.Errorf("display %d is %s, want %s of %s", i, r.Displays[i], want.data, want.mime)
		}
	}
	main := r.Displays[6]
	if shown(t, main, "text/html") != "<b>é</b>" || shown(t, main, "text/plain") != "everything" || main["text/markdown"] != nil || main["application/json"] == nil {
		t.Errorf("the last expression is shown as %s", main)
	}

	r = n.run("h = display('one', display_id=True)\nh.update('two')\nprint('three')")
	if len(r.Displays) != 1 || shown(t, r.Displays[0], "text/plain") != "'two'" || r.MainDisplay != nil {
		t.Errorf("an updated display is %s", r.Displays)
	}
	r = n.run("for i in range(300): display(i)")
	if len(r.Displays) != yurt.MaxDisplays || !r.Truncated.Results {
		t.Errorf("%d of 300 displays are kept, cut: %t", len(r.Displays), r.Truncated.Results)
	}
	r = n.run("raise ValueError('after ' + repr(display('before')))")
	if testutil.WantErrorType(t, r, "ValueError"); len(r.Displays) != 1 {
		t.Errorf("what was shown before an error: %s", r.Displays)
	}
}

func jsonEqual(a, b any) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

func TestWatchedDisplays(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	spec := testutil.Cell("print('out', flush=True)\ndisplay('shown')\n6 * 7")
	if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
		t.Fatal(err)
	}
	for after := range uint64(4) {
		var seen []string
		last := after
		err := n.e.WatchExecution(t.Context(), n.sandbox, spec.ID, after, func(e yurt.Event) error {
			if last++; e.Seq != last {
				t.Errorf("event %d came in place of %d", e.Seq, last)
			}
			text := string(e.Type)
			if e.Display != nil {
				text += " " + shown(t, e.Display.Data, "text/plain")
			}
			seen = append(seen, text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if after == 0 && (len(seen) != 5 || !strings.Contains(strings.Join(seen, ", "), "display 'shown', ") || !strings.Contains(strings.Join(seen, ", "), "display 42")) {
			t.Errorf("events are %q", seen)
		}
		if len(seen) != 5-int(after) || seen[len(seen)-1] != "ended" {
			t.Errorf("after %d, events are %q", after, seen)
		}
	}
}

// TestClearedDisplays: a watcher is told of a clearing, and the result has the displays after it.
func TestClearedDisplays(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	spec := testutil.Cell("from IPython.display import clear_output\ndisplay('one')\nclear_output()\ndisplay('two')\nclear_output(wait=True)\nprint('stays')\ndisplay('three')\nclear_output(wait=True)")
	if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
		t.Fatal(err)
	}
	var seen []string
	err := n.e.WatchExecution(t.Context(), n.sandbox, spec.ID, 0, func(e yurt.Event) error {
		if e.Display != nil {
			seen = append(seen, fmt.Sprintf("%s %t", e.Display.Data["text/plain"], e.Display.Clear))
		}
		return nil
	})
	if want := []string{`"'one'" false`, " true", `"'two'" false`, `"'three'" true`}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("displays, and whether they clear, are %q, want %q (%v)", seen, want, err)
	}
	r, err := n.e.WaitExecution(t.Context(), n.sandbox, spec.ID)
	if err != nil || len(r.Displays) != 1 || shown(t, r.Displays[0], "text/plain") != "'three'" || r.Stdout != "stays\n" {
		t.Errorf("the result is %+v (%v), want the display 'three' alone, and the output", r, err)
	}
}

func TestWhoseOutput(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.want("from a child\nfrom a thread\nétoile\n", "import subprocess, threading, os, sys\nsubprocess.run(['echo', 'from a child'])\n"+
		"t = threading.Thread(target=print, args=('from a thread',)); t.start(); t.join()\nos.write(1, 'étoile\\n'.encode())\nNone")
	// Output between two executions belongs to the next one, output during an execution to that execution.
	n.want("", "go = threading.Event(); done = threading.Event()\n"+
		"def later():\n  go.wait(); print('later'); done.set()\nthreading.Thread(target=later).start()")
	n.want("later\n", "go.set(); done.wait()\nNone")
	// Text that looks like a mark of ours is text.
	n.want("\x1eyurt:x\x1e\x1eyurt:\x1e\n", `print("\x1eyurt:x\x1e\x1eyurt:\x1e")`)
	r := n.run("print('x' * 100)\nprint('y', file=sys.stderr)", func(s *yurt.ExecutionSpec) { s.OutputLimit = 10 })
	if r.Stdout != "xxxxxxxxxx" || !r.Truncated.Stdout || r.Truncated.Stderr || r.Stderr != "y\n" || r.Metrics.StdoutBytes != 101 {
		t.Errorf("stdout %q, truncated %+v, %d bytes", r.Stdout, r.Truncated, r.Metrics.StdoutBytes)
	}
	n.want("é", "sys.stdout.write('éé'); None", func(s *yurt.ExecutionSpec) { s.OutputLimit = 3 })
	// Neither closing nor flooding the streams costs a later execution its output.
	n.run("sys.stdout.close(); os.close(2)")
	n.want("again\n", "print('again')")
	r = n.run("for i in range(200000): print('x' * 100)")
	if r.Error != nil || len(r.Stdout) != yurt.DefaultOutputLimit || !r.Truncated.Stdout || r.Metrics.StdoutBytes != 200000*101 {
		t.Errorf("%d of %d bytes, %+v", len(r.Stdout), r.Metrics.StdoutBytes, r.Error)
	}
	n.want("small\n", "print('small')")
}

func TestOddCells(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.want("4194000\n", "x = '"+strings.Repeat("é", 2097000)+"'\nprint(len(x.encode()))")
	n.want("1\n", "import asyncio\nawait asyncio.sleep(0)\nasync def one(): return 1\nprint(await one())")
	n.want("begun\n", "async def two():\n    print('begun')\n    await asyncio.sleep(0)\n    return 2\ntask = asyncio.create_task(two())\nawait asyncio.sleep(0)")
	n.want("True\n", "await asyncio.sleep(0)\nprint(await task == 2)\nother = asyncio.create_task(one())\nother")
	for _, types := range []string{"{3: 'x', 'html': 'x', 'text/ü': 'x', 'a/ b': 'x', 'text/plain': 4}", "{'text/plain': 4} | {f'a/{i}': 'x' for i in range(100)}"} {
		r := n.run("class Odd:\n    def _repr_mimebundle_(self, **options): return " + types + "\nOdd()")
		if r.Error != nil || len(r.Displays) != 1 || string(r.Displays[0]["text/plain"]) != `"4"` {
			t.Errorf("%s: error %+v, %v", types, r.Error, r.Displays)
		}
	}
	testutil.WantErrorType(t, n.run("display(1, display_id='a\\n')"), "ValueError")
	if r := n.run("await one()"); string(r.Result) != "1" {
		t.Errorf("the value of an awaited expression is %s", r.Result)
	}
	n.run("from __future__ import annotations")
	n.want("{'a': 'nothing'}\n", "def f(a: nothing): pass\nprint(f.__annotations__)")
	testutil.WantErrorType(t, n.run("def f(): return f()\nf()"), "RecursionError")
	testutil.WantErrorType(t, n.run("class E(Exception):\n  def __str__(self): raise ValueError\nraise E"), "E")
	n.want("", "import os\nif os.fork() == 0: pass\nelse: os.wait();")
	n.want("True\n", "import __main__; print(__main__.one is one)")
	n.want("['import inspect\\n', 'def g(): pass\\n']\n", "import inspect\ndef g(): pass\nprint(inspect.getsourcelines(inspect.currentframe())[0][:2])")
	n.want("", "# nothing")
}

// TestSimpleValues: a number or a text is shown as text alone, without a look at its other representations; a value of
// a derived class is asked for them.
func TestSimpleValues(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("class Html(int):\n    def _repr_html_(self): return '<b>%d</b>' % self")
	for value, want := range map[string]int{"1": 1, "1.5": 1, "'a'": 1, "True": 1, "b'x'": 1, "2j": 1, "Html(3)": 2} {
		r := n.run(value)
		if r.MainDisplay == nil || len(r.Displays) != 1 || len(r.Displays[0]) != want || shown(t, r.Displays[0], "text/plain") != strings.Trim(value, "Html()") {
			t.Errorf("%s is shown as %s", value, r.Displays)
		}
	}
}
