package notebook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"image"
	_ "image/png" // figures are decoded
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// The types that Yurt shows beside those that a notebook has, for programs that read results:
// the rows of a data frame, and the series of a figure.
const (
	frameData = "application/vnd.dataresource+json"
	chartData = "application/vnd.yurt.chart+json"
)

// difference is a cell of which the two make something else, and why that is right.
type difference struct {
	why          string
	yurt, theirs string // parts of both outcomes, as [outcome.String] has them; # is the number of the cell
	chosen       string // ipykernel's part where a template chooses it; empty for the same as theirs
}

// differences are about the cells of testdata/differences.ipynb, in their order.
func differences() []difference {
	const noInput = "EOFError: input(): no user is there to answer"
	return []difference{
		{"the lines of a cause are those where it was raised, as Python has it", "ValueError: with a cause at #:2 #:4", "ValueError: with a cause at #:4 #:4", ""},
		{"Python itself says what was not closed", "SyntaxError: '(' was never closed (<cell #>, line 1", "SyntaxError: incomplete input", ""},
		{"what ipykernel has beside the notebook is shown", "shows [text/plain]", "shows nothing", "shows [text/plain]"},
		{"input() is served from the request's stdin; how is said where that has ended", noInput, "StdinNotImplementedError", noInput},
		{"a picture that code saves is also shown", "shows [image/jpeg image/png text/plain]", "shows nothing", ""},
		{"it is the next display that clears, not the next output", "shows [text/plain]", "shows nothing", "shows [text/plain]"},
		{"sys.exit says nothing of its own", "SystemExit: 3 at #:1", "To exit: use 'exit'", ""},
		{"a picture is shown here, and not by a program of the host where there is one", "shows [image/jpeg image/png text/plain]", "shows", "shows [image/jpeg image/png text/plain]"},
	}
}

func TestNotebook(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	cells, odd := load(t, "testdata/cells.ipynb"), load(t, "testdata/differences.ipynb")
	if len(cells.Cells) < 100 || len(odd.Cells) != len(differences()) {
		t.Fatalf("there are %d cells, and %d that differ", len(cells.Cells), len(odd.Cells))
	}
	all := document{Cells: slices.Concat(cells.Cells, odd.Cells)}
	packages := libraries(t)
	theirs := throughIPykernel(t, all, packages)
	t.Run("own kernel", func(t *testing.T) {
		t.Parallel()
		ours := throughYurt(t, all, packages, "")
		compareCells(t, cells, ours, theirs)
		for i, d := range differences() {
			at := len(cells.Cells) + i
			d.check(t, all, at, "Yurt", ours[at], d.yurt)
			d.check(t, all, at, "ipykernel", theirs[at], d.theirs)
		}
	})
	for _, kernel := range []string{"ipykernel", "ipython"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			ours := throughYurt(t, all, packages+":"+sitePackages(t), kernel)
			compareCells(t, cells, ours, theirs)
			for i, d := range differences() {
				at := len(cells.Cells) + i
				if kernel == "ipython" && strings.Contains(ours[at].String(), strings.ReplaceAll(d.yurt, "#", strconv.Itoa(at+1))) {
					continue // as with Yurt's own kernel, which is meant
				}
				d.check(t, all, at, kernel+" in a sandbox", ours[at], cmp.Or(d.chosen, d.theirs))
			}
		})
	}
}

// compareCells compares the outcomes of each cell.
func compareCells(t *testing.T, cells document, ours, theirs []outcome) {
	for i, c := range cells.Cells {
		t.Run(fmt.Sprintf("cell %d", i+1), func(t *testing.T) {
			compare(t, ours[i], theirs[i])
			if t.Failed() {
				t.Logf("the cell is\n%s", c.code())
			}
		})
	}
}

// check reports an outcome of a cell that lacks the wanted text.
func (d difference) check(t *testing.T, all document, at int, who string, said outcome, want string) {
	t.Helper()
	want = strings.ReplaceAll(want, "#", strconv.Itoa(at+1))
	if text := said.String(); !strings.Contains(text, want) {
		t.Errorf("of %s, %s says\n%s\nwant %q: %s", strings.TrimSpace(all.Cells[at].Source[0]), who, text, want, d.why)
	}
}

// TestLayout has random values written as IPython writes them, by the file that kernels have.
func TestLayout(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("installs IPython; run without -short")
	}
	cmd := exec.CommandContext(t.Context(), jupyter(t), "layout.py", filepath.Join(testutil.Root(t), "plugins", "python", "pretty.py"), "300")
	cmd.Env = []string{"HOME=" + t.TempDir(), "LANG=C.UTF-8"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func (o outcome) String() string {
	text := o.Stdout + o.Stderr
	if o.Error != nil {
		text += o.Error.Type + ": " + o.Error.Message + " at " + strings.Join(o.Error.frames(), " ") + "\n"
	}
	text += "shows"
	for _, d := range o.Displays {
		text += fmt.Sprint(" ", types(d))
	}
	if len(o.Displays) == 0 {
		text += " nothing"
	}
	return text
}

func types(d yurt.Display) []string { return slices.Sorted(maps.Keys(d)) }

// compare reports the differences between the outcomes of a cell.
func compare(t *testing.T, ours, theirs outcome) {
	t.Helper()
	same(t, "stdout", ours.Stdout, theirs.Stdout)
	compareErrors(t, ours, theirs)
	if !reflect.DeepEqual(ours.Main, theirs.Main) || len(ours.Displays) != len(theirs.Displays) {
		t.Errorf("Yurt %s, ipykernel %s; the last expression's is %s and %s", ours, theirs, number(ours.Main), number(theirs.Main))
		return
	}
	for i, d := range ours.Displays {
		d = maps.Clone(d)
		delete(d, frameData)
		delete(d, chartData)
		if !slices.Equal(types(d), types(theirs.Displays[i])) {
			t.Errorf("display %d has types %q, want %q", i, types(d), types(theirs.Displays[i]))
			continue
		}
		for mime, data := range d {
			compareData(t, fmt.Sprintf("display %d, %s", i, mime), mime, data, theirs.Displays[i][mime])
		}
	}
}

func number(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// compareErrors has the exception, its message and the user's lines. The traceback is also on
// Yurt's standard error, after the cell's own output there.
func compareErrors(t *testing.T, ours, theirs outcome) {
	t.Helper()
	if ours.Error == nil || theirs.Error == nil {
		if len(theirs.Tracebacks) == 0 {
			same(t, "stderr", ours.Stderr, theirs.Stderr)
		}
		for _, shown := range theirs.Tracebacks {
			if !strings.Contains(ours.Stderr, shown) {
				t.Errorf("stderr is %q, want a traceback that ends with %q", ours.Stderr, shown)
			}
		}
		if ours.Error != nil || theirs.Error != nil {
			t.Errorf("error %+v, want %+v", ours.Error, theirs.Error)
		}
		return
	}
	rest, found := strings.CutPrefix(plain(ours.Stderr), plain(theirs.Stderr))
	if !found || !strings.Contains(rest, ours.Error.Type) {
		t.Errorf("stderr is %q, want %q and the traceback", ours.Stderr, theirs.Stderr)
	}
	same(t, "the error's type", ours.Error.Type, theirs.Error.Type)
	where := regexp.MustCompile(` \([^()]*, line \d+[^()]*\)$`) // of a syntax error
	same(t, "the error's message", where.ReplaceAllString(ours.Error.Message, ""), where.ReplaceAllString(theirs.Error.Message, ""))
	if mine, want := ours.Error.frames(), theirs.Error.frames(); len(want) == 0 || !slices.Equal(mine, want) {
		t.Errorf("the traceback has lines %q, want %q\n%s", mine, want, ours.Error.Traceback)
	}
}

// frames lists the cells and lines that the traceback has, in either's form.
func (f *failure) frames() []string {
	var list []string
	for _, match := range regexp.MustCompile(`(?:File "<cell |Cell In\[)(\d+)[>"\]]+, line (\d+)`).FindAllStringSubmatch(f.Traceback, -1) {
		list = append(list, match[1]+":"+match[2])
	}
	return list
}

func compareData(t *testing.T, what, mime string, ours, theirs json.RawMessage) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(ours, &a); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := json.Unmarshal(theirs, &b); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	left, isText := a.(string)
	right, wantText := b.(string)
	switch {
	case mime == "image/png":
		if mine, want := size(t, ours), size(t, theirs); mine != want {
			t.Errorf("%s is of %v points, want %v", what, mine, want)
		}
	case isText && wantText:
		same(t, what, left, right)
	case !reflect.DeepEqual(a, b):
		t.Errorf("%s is %s, want %s", what, ours, theirs)
	}
}

func size(t *testing.T, data json.RawMessage) image.Point {
	t.Helper()
	var picture []byte
	if err := json.Unmarshal(data, &picture); err != nil {
		t.Fatal(err)
	}
	decoded, _, err := image.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatalf("a picture: %v", err)
	}
	return decoded.Bounds().Size()
}

// plain takes out of a text the parts that differ in every run.
func plain(text string) string {
	text = regexp.MustCompile(`0x[0-9a-f]{6,}`).ReplaceAllString(text, "0x…")
	text = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllString(text, "an id")
	text = strings.ReplaceAll(text, "\r\n", "\n") // ipykernel gives commands a terminal
	return regexp.MustCompile(`(?:/\S*/ipykernel_\d+/\d+\.py|<cell \d+>|<ipython-input-\d+-\w+>):`).ReplaceAllString(text, "the cell:")
}

// same compares texts, and shows the first line in which they differ.
func same(t *testing.T, what, ours, theirs string) {
	t.Helper()
	ours, theirs = plain(ours), plain(theirs)
	if ours == theirs {
		return
	}
	left, right := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			t.Errorf("%s, line %d of %d is %q, want %q", what, i+1, len(left), left[i], right[i])
			return
		}
	}
	t.Errorf("%s has %d lines, want %d", what, len(left), len(right))
}
