package yurtclient_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// TestPNG: the value of the last expression comes before other pictures, and a display without a picture is passed over.
func TestPNG(t *testing.T) {
	text := yurt.Display{"text/plain": []byte(`"words"`)}
	first := yurt.Display{"image/png": []byte(`"Zmlyc3Q="`)}
	second := yurt.Display{"image/png": []byte(`"c2Vjb25k"`)}
	broken := yurt.Display{"image/png": []byte(`"???"`)}
	at := func(n int) *int { return &n }
	for name, test := range map[string]struct {
		displays []yurt.Display
		main     *int
		want     string
	}{
		"the first":                 {[]yurt.Display{text, first, second}, nil, "first"},
		"the last expression":       {[]yurt.Display{first, second}, at(1), "second"},
		"a last expression of text": {[]yurt.Display{first, text}, at(1), "first"},
		"a place without a display": {[]yurt.Display{first}, at(7), "first"},
		"a broken one":              {[]yurt.Display{broken, second}, nil, "second"},
		"no picture":                {[]yurt.Display{text}, at(0), ""},
	} {
		if got := yurtclient.PNG(&yurt.Result{Displays: test.displays, MainDisplay: test.main}); string(got) != test.want {
			t.Errorf("%s: the picture is %q, want %q", name, got, test.want)
		}
	}
}
