package notebook

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// kernels opens a session for each kernel of Python, with the libraries and with IPython.
func kernels(t *testing.T, each func(t *testing.T, s session)) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	packages := libraries(t) + ":" + sitePackages(t)
	config := offering(t, packages)
	config.Transient = true
	e := testutil.Start(t, config)
	for _, kernel := range []string{"", "ipykernel"} {
		t.Run("kernel "+kernel, func(t *testing.T) { each(t, open(t, e, template(t, packages, kernel))) })
	}
}

// only returns the one display of code that has to succeed.
func (s session) only(t *testing.T, code string) yurt.Display {
	t.Helper()
	r := s.run(t, code)
	if r.Error != nil || len(r.Displays) != 1 {
		t.Fatalf("%s\nshows %d displays, want 1 (error %+v, stderr %q)", code, len(r.Displays), r.Error, r.Stderr)
	}
	return r.Displays[0]
}

// member returns the value at a path in JSON, such as x.ticks or series.0.label.
func member(t *testing.T, data json.RawMessage, path string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatalf("%v: %.200s", err, data)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch inner := value.(type) {
		case map[string]any:
			value = inner[name]
		case []any:
			var at int
			if _, err := fmt.Sscan(name, &at); err != nil || at >= len(inner) {
				return nil
			}
			value = inner[at]
		default:
			return nil
		}
	}
	return value
}

const plots = "import datetime\nimport numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt\n"

// charts are figures, and the expected values in their data, as JSON by path.
func charts() []struct {
	name, code string
	want       map[string]string
} {
	return []struct {
		name, code string
		want       map[string]string
	}{
		{"line of dates", "days = [datetime.date(2023, 9, 1) + datetime.timedelta(days=i) for i in range(30)]\nplt.plot(days, np.sin(range(30)), label='sin(x)')\nplt.plot(days, np.cos(range(30)))\nplt.xlabel('Time (s)'); plt.ylabel('Amplitude [Hz]'); plt.title('Waves')\nplt.show()", map[string]string{
			"type": `"line"`, "title": `"Waves"`, "x.label": `"Time (s)"`, "x.unit": `"s"`, "y.unit": `"Hz"`, "x.scale": `"datetime"`, "y.scale": `"linear"`,
			"x.ticks.0": `"2023-09-01T00:00:00"`, "series.0.label": `"sin(x)"`, "series.0.points.0": `["2023-09-01", 0]`, "series.1.label": "null", "series.1.count": "30", "truncated": "false",
		}},
		{"log", "plt.plot([0, 1, 2], [1, 10, float('nan')]); plt.yscale('log'); plt.ylabel('Y (log scale)')\nplt.show()", map[string]string{
			"y.scale": `"log"`, "y.unit": `"log scale"`, "series.0.points": "[[0, 1], [1, 10], [2, null]]",
		}},
		{"categories", "plt.plot([1, 2], ['A', 'B'])\nplt.show()", map[string]string{
			"type": `"line"`, "y.scale": `"categorical"`, "y.tick_labels": `["A", "B"]`, "series.0.points": `[[1, "A"], [2, "B"]]`,
		}},
		{"scatter", "plt.scatter([1, 2, 3], [4, 5, 6], label='dots'); plt.colorbar\nplt.xlabel('A')\nplt.show()", map[string]string{
			"type": `"scatter"`, "title": "null", "x.label": `"A"`, "y.label": "null", "series.0": `{"type": "scatter", "label": "dots", "count": 3, "points": [[1, 4], [2, 5], [3, 6]]}`,
		}},
		{"bar", "plt.bar(['a', 'b'], [100, 200], label='sold')\nplt.tight_layout()\nplt.show()", map[string]string{
			"type": `"bar"`, "orientation": `"vertical"`, "x.scale": `"categorical"`, "series.0.label": `"sold"`, "series.0.bars.1": `{"label": "b", "value": 200, "base": 0, "position": 1, "width": 0.8}`,
		}},
		{"horizontal bars of equal length", "plt.barh(['a', 'b'], [2, 2]); plt.axvline(1)\nplt.show()", map[string]string{
			"type": `"bar"`, "orientation": `"horizontal"`, "series.0.bars.0.label": `"a"`, "series.0.bars.0.value": "2", "series.1": "null",
		}},
		{"stacked bars", "plt.bar(['a', 'b'], [1, 2], yerr=[.1, .1], label='low'); plt.bar(['a', 'b'], [3, 4], bottom=[1, 2], label='high')\nplt.show()", map[string]string{
			"type": `"bar"`, "series.1.label": `"high"`, "series.1.bars.1.value": "4", "series.1.bars.1.base": "2",
		}},
		{"bars with error bars as seaborn draws them", "plt.bar(['a', 'b'], [1, 2]); plt.plot([0, 0], [.9, 1.1]); plt.plot([1, 1], [float('nan')] * 2)\nplt.show()", map[string]string{
			"type": `"bar"`, "series.0.count": "2", "series.1": "null",
		}},
		{"grouped bars of pandas", "pd.DataFrame({'m': [1, 2], 'n': [3, 4]}, index=['p', 'q']).plot.bar();", map[string]string{
			"type": `"bar"`, "series.0.label": `"m"`, "series.1.bars.0.label": `"p"`, "series.1.bars.1.value": "4",
		}},
		{"pie", "plt.pie([90, 10], labels=['No', 'Yes'], autopct='%1.1f%%', startangle=90); plt.title('Early?')\nplt.show()", map[string]string{
			"type": `"pie"`, "title": `"Early?"`, "series.0.slices": `[{"label": "No", "angle": 324, "share": 0.9, "radius": 1}, {"label": "Yes", "angle": 36, "share": 0.1, "radius": 1}]`,
		}},
		{"boxes", "plt.boxplot([[85, 90, 78, 92, 88], [95, 89, 76, 91, 84, 87]], tick_labels=['A', 'B'], patch_artist=True)\nplt.show()", map[string]string{
			"type": `"box_and_whisker"`, "series.0.boxes.1": `{"label": "B", "min": 84, "first_quartile": 84.75, "median": 88, "third_quartile": 90.5, "max": 95, "outliers": [76], "position": 2}`,
		}},
		{"boxes that lie", "plt.boxplot([[1, 2, 3, 9]], orientation='horizontal', notch=True)\nplt.show()", map[string]string{
			"type": `"box_and_whisker"`, "orientation": `"horizontal"`, "series.0.boxes.0.median": "2.5", "series.0.boxes.0.outliers": "[9]",
		}},
		{"several", "figure, two = plt.subplots(1, 2); figure.suptitle('Both')\ntwo[0].plot([1, 2]); two[0].set_title('left'); two[1].scatter([1], [2]); two[1].set_xlabel('X')\nplt.show()", map[string]string{
			"type": `"superchart"`, "title": `"Both"`, "charts.0.type": `"line"`, "charts.0.title": `"left"`, "charts.1.type": `"scatter"`, "charts.1.x.label": `"X"`, "charts.2": "null",
		}},
		{"other shapes", "axis = plt.gca(); axis.add_artist(plt.Circle((0, 0), 1)); plt.title('Circles')\nplt.show()", map[string]string{
			"type": `"unknown"`, "title": `"Circles"`, "series": "[]",
		}},
		{"many points", "for _ in range(20): plt.plot(np.arange(100_000))\nplt.show()", map[string]string{
			"truncated": "true", "series.0.count": "100000", "series.0.points.1999": "[99999, 99999]", "series.0.points.2000": "null", "series.19.points.2": "null",
		}},
	}
}

// TestCharts: a figure shows its data beside its picture, in each kernel.
func TestCharts(t *testing.T) {
	t.Parallel()
	kernels(t, func(t *testing.T, s session) {
		s.run(t, plots)
		for _, tt := range charts() {
			t.Run(tt.name, func(t *testing.T) {
				shown := s.only(t, tt.code)
				if len(shown["image/png"]) == 0 || len(shown[chartData]) == 0 {
					t.Fatalf("it shows %q, want a picture and %s", types(shown), chartData)
				}
				for path, want := range tt.want {
					var wanted any
					if err := json.Unmarshal([]byte(want), &wanted); err != nil {
						t.Fatalf("%s: %v", path, err)
					}
					if got := member(t, shown[chartData], path); !reflect.DeepEqual(got, wanted) {
						t.Errorf("%s is %v, want %s", path, got, want)
					}
				}
			})
		}
		if shown := s.only(t, "plt.subplots();"); len(shown[chartData]) > 0 {
			t.Errorf("of empty axes it shows %s, want no data", shown[chartData])
		}
	})
}

// TestFrames: a frame shows its rows as data, in each kernel, up to a bound that it tells.
func TestFrames(t *testing.T) {
	t.Parallel()
	kernels(t, func(t *testing.T, s session) {
		s.run(t, "import pandas as pd")
		shown := s.only(t, "pd.DataFrame({'a': [1, 2, 3]})")
		if got := member(t, shown[frameData], "data.2.a"); got != 3.0 || len(shown["text/html"]) == 0 {
			t.Errorf("it shows %q, and the last row's a is %v, want 3", types(shown), got)
		}
		shown = s.only(t, "pd.DataFrame({'a': range(1500)})")
		if rows, last, over := member(t, shown[frameData], "rows"), member(t, shown[frameData], "data.999.a"), member(t, shown[frameData], "data.1000"); rows != 1500.0 || last != 999.0 || over != nil {
			t.Errorf("of 1500 rows it says %v, its last is %v and then %v, want 1500, 999 and none", rows, last, over)
		}
		if shown := s.only(t, "pd.DataFrame([[1, 2]], columns=['same', 'same'])"); len(shown[frameData]) > 0 || len(shown["text/html"]) == 0 {
			t.Errorf("of columns with one name it shows %q, want no data", types(shown))
		}
		shown = s.only(t, "pd.DataFrame({'long': ['x' * 10_000] * 900})")
		if size := len(shown[frameData]); size == 0 || size > 2<<20 || member(t, shown[frameData], "truncated") != true {
			t.Errorf("9 MB of rows are shown in %d bytes, want at most 2 MiB, truncated", size)
		}
	})
}

// TestScalars: a scalar of numpy is a result as its number, and no other object of numpy is one.
func TestScalars(t *testing.T) {
	t.Parallel()
	kernels(t, func(t *testing.T, s session) {
		s.run(t, "import numpy as np, pandas as pd")
		for code, want := range map[string]string{
			"pd.Series([1, 3]).sum()": "4", "np.float64(2.5) * 2": "5.0", "np.bool_(True)": "true", "np.str_('a')": `"a"`,
			"np.float64('nan')": "null", "np.datetime64('2024-01-01')": "null", "np.complex128(1)": "null", "np.array([1])": "null", "np.int64": "null",
		} {
			if r := s.run(t, code); string(r.Result) != want || r.Error != nil {
				t.Errorf("%s: the result is %s, want %s (error %+v)", code, r.Result, want, r.Error)
			}
		}
	})
}

// TestBarsWithoutWidgets: tqdm.notebook writes text where ipywidgets is missing.
func TestBarsWithoutWidgets(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	packages := libraries(t)
	config := offering(t, packages)
	config.Transient = true
	s := open(t, testutil.Start(t, config), template(t, packages, ""))
	r := s.run(t, "from tqdm.notebook import tqdm, trange\nsum(tqdm(range(4))) + sum(trange(3))")
	if string(r.Result) != "9" || !strings.Contains(r.Stderr, "4/4") || !strings.Contains(r.Stderr, "3/3") {
		t.Errorf("two bars: result %s, stderr %q, error %+v; want 9 and both bars as text", r.Result, r.Stderr, r.Error)
	}
}

// TestWidgets: widgets of ipywidgets show as their fallback, and libraries that ask IPython itself
// find the shell that runs the code, in each kernel.
func TestWidgets(t *testing.T) {
	t.Parallel()
	const view = "application/vnd.jupyter.widget-view+json"
	kernels(t, func(t *testing.T, s session) {
		shown := s.only(t, "import ipywidgets\nipywidgets.IntSlider(3)")
		if string(shown["text/plain"]) != `"IntSlider(value=3)"` || member(t, shown[view], "model_id") == nil {
			t.Errorf("a slider shows %s and %s", shown["text/plain"], shown[view])
		}
		r := s.run(t, "@ipywidgets.interact(x=3)\ndef twice(x): print(2 * x)\nbox = ipywidgets.Output()\nwith box: print('inside')\nbox.clear_output()")
		if r.Error != nil || !strings.Contains(r.Stdout, "6\n") || r.Stderr != "" {
			t.Errorf("interact: stdout %q, stderr %q, error %+v", r.Stdout, r.Stderr, r.Error)
		}
		if r := s.run(t, "from tqdm.notebook import tqdm\nfor i in tqdm(range(3)): pass"); r.Error != nil || len(r.Displays) != 1 || !strings.Contains(string(r.Displays[0]["text/plain"]), "0/3") {
			t.Errorf("tqdm.notebook: displays %q, error %+v", r.Displays, r.Error)
		}
		s.prints(t, "True True\n", "import IPython\nfrom IPython.core.interactiveshell import InteractiveShell\nprint(IPython.get_ipython() is get_ipython(), InteractiveShell.instance() is get_ipython())")
		shown = s.only(t, "from IPython.display import HTML, clear_output, display as other\nother('gone'); clear_output(wait=True); other(HTML('<b>stays</b>'))")
		if string(shown["text/html"]) != `"<b>stays</b>"` {
			t.Errorf("IPython's display shows %q", shown)
		}
		shown = s.only(t, "from matplotlib_inline.backend_inline import set_matplotlib_formats\nimport matplotlib.pyplot as plt\nset_matplotlib_formats('svg')\nplt.plot([1, 2]); plt.show()")
		if len(shown["image/svg+xml"]) == 0 || len(shown["image/png"]) > 0 {
			t.Errorf("a figure as SVG is shown as %q", types(shown))
		}
	})
}

// TestTooLarge: a display that is too large is left out, which the result says, and the rest is shown.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	kernels(t, func(t *testing.T, s session) {
		r := s.run(t, "from IPython.display import display\ndisplay({'text/plain': 'x' * (17 << 20), 'text/html': '<b>small</b>'}, raw=True)\ndisplay('next')")
		if r.Error != nil || len(r.Displays) != 2 || string(r.Displays[0]["text/html"]) != `"<b>small</b>"` || !r.Truncated.Results {
			t.Errorf("%d displays, truncated %t, error %+v; want 2, true and none", len(r.Displays), r.Truncated.Results, r.Error)
		}
		if r := s.run(t, "for i in range(40):\n    clear_output = __import__('IPython.display').display.clear_output\n    clear_output(wait=True)\n    display({'text/plain': 'y' * (1 << 20)}, raw=True)"); r.Error != nil || len(r.Displays) != 1 || r.Truncated.Results {
			t.Errorf("40 MiB, of which 1 MiB is not cleared: %d displays, truncated %t, error %+v", len(r.Displays), r.Truncated.Results, r.Error)
		}
	})
}
