package hcl

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
)

// TestEncodeRoundTrip: every valid template comes back unchanged from HCL and from JSON, and Encode
// writes the form that Format makes.
func TestEncodeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := validTemplate(t)
		if err := Validate(want); err != nil {
			t.Fatalf("the generator made an invalid template: %v", err)
		}
		src := Encode(want)
		got, err := Parse("encoded.hcl", src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if diff := cmp.Diff([]yurt.Template{WithDefaults(want)}, got); diff != "" {
			t.Fatalf("from HCL (- want, + got):\n%s\n%s", diff, src)
		}
		formatted, err := Format(src)
		if err != nil || !bytes.Equal(formatted, src) {
			t.Fatalf("not formatted (%v):\n%s", err, cmp.Diff(string(formatted), string(src)))
		}
		body, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		fromJSON, err := ParseJSON(body)
		if err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		if diff := cmp.Diff(WithDefaults(want), fromJSON); diff != "" {
			t.Fatalf("from JSON (- want, + got):\n%s\n%s", diff, body)
		}
		if fromJSON.Digest() != got[0].Digest() {
			t.Fatal("the digests differ")
		}
	})
}

// validTemplate draws a template within all bounds, some of its fields zero.
func validTemplate(t *rapid.T) yurt.Template {
	resource := func(label string, low, high int64) yurt.Size {
		return yurt.Size(orZeroValue(rapid.Int64Range(low, high)).Draw(t, label))
	}
	duration := func(label string, low, high time.Duration) yurt.Duration {
		return yurt.Duration(orZeroValue(rapid.Int64Range(int64(low), int64(high))).Draw(t, label))
	}
	name := rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,20}`)
	runtimes := rapid.SliceOfNDistinct(name, 0, 3, rapid.ID).Draw(t, "runtimes")
	return yurt.Template{
		Name:        name.Draw(t, "name"),
		Description: textWithout(unicode.IsControl).Draw(t, "description"),
		Runtimes:    runtimes,

		Dependencies: dependencies(t, runtimes),
		Kernels:      kernels(t, runtimes, name),
		Preload:      rapid.SliceOfN(rapid.StringMatching(`[a-z_][a-z0-9_.]{0,20}`), 0, 2*min(len(runtimes), 1)).Draw(t, "preload"),
		Env: rapid.MapOfN(
			textWithout(func(r rune) bool { return r == '=' || unicode.IsSpace(r) || unicode.IsControl(r) }).Filter(func(s string) bool { return s != "" }),
			textWithout(func(r rune) bool { return r == 0 }), 0, 5,
		).Draw(t, "env"),
		RootFS: rapid.OneOf(
			rapid.Custom(func(t *rapid.T) yurt.RootFS {
				return yurt.RootFS{HostPaths: rapid.SliceOfNDistinct(hostPath(), 0, 4, rapid.ID).Draw(t, "paths")}
			}),
			rapid.Custom(func(t *rapid.T) yurt.RootFS {
				return yurt.RootFS{Image: rapid.StringMatching(`[a-z0-9][a-zA-Z0-9$\{\}"@:./_-]{0,80}`).Draw(t, "image")}
			}),
		).Draw(t, "rootfs"),
		Resources: yurt.Resources{
			CPU:    orZeroValue(rapid.Float64Range(yurt.MinCPU, yurt.MaxCPU)).Draw(t, "cpu"),
			Memory: resource("memory", yurt.MinMemory, yurt.MaxMemory),
			Disk:   resource("disk", yurt.MinDisk, yurt.MaxDisk),
			PIDs:   orZeroValue(rapid.IntRange(yurt.MinPIDs, yurt.MaxPIDs)).Draw(t, "pids"),
		},
		Isolation: yurt.Isolation{
			Level:       rapid.SampledFrom([]yurt.IsolationLevel{"", yurt.IsolationNamespaces}).Draw(t, "level"),
			SystemCalls: rapid.SliceOfNDistinct(rapid.SampledFrom(yurt.SystemCallGroups()), 0, 2, rapid.ID).Draw(t, "calls"),
		},
		Network: yurt.Network{Mode: rapid.SampledFrom([]yurt.NetworkMode{"", yurt.NetworkNone}).Draw(t, "mode")},
		Session: yurt.SessionLimits{
			Timeout:          duration("timeout", yurt.MinSessionTimeout, yurt.MaxSessionTimeout),
			IdleTimeout:      duration("idle_timeout", yurt.MinSessionTimeout, yurt.MaxSessionTimeout),
			ExecutionTimeout: duration("execution_timeout", yurt.MinExecutionTimeout, yurt.MaxExecutionTimeout),
			OutputLimit:      resource("output_limit", 1, yurt.MaxOutputLimit),
		},
		WarmPool: yurt.WarmPool{Interpreter: rapid.Bool().Draw(t, "interpreter")},
	}
}

// dependencies draws lists of packages for some of the runtimes.
func dependencies(t *rapid.T, runtimes []string) map[string][]string {
	lists := map[string][]string{}
	for _, name := range runtimes {
		list := rapid.SliceOfN(rapid.StringMatching(`[a-z@][a-z0-9"$\{}<=>. -]{0,20}[a-z0-9]`), 0, 3).Draw(t, "packages of "+name)
		if len(list) > 0 {
			lists[name] = list
		}
	}
	return lists
}

// kernels draws names for some of the runtimes.
func kernels(t *rapid.T, runtimes []string, name *rapid.Generator[string]) map[string]string {
	chosen := map[string]string{}
	for _, runtime := range runtimes {
		if rapid.Bool().Draw(t, "chooses for "+runtime) {
			chosen[runtime] = name.Draw(t, "kernel of "+runtime)
		}
	}
	return chosen
}

func orZeroValue[T any](g *rapid.Generator[T]) *rapid.Generator[T] {
	var zero T
	return rapid.OneOf(rapid.Just(zero), g)
}

// textWithout draws text in normal form C without the runes that bad holds of, with a taste for the
// characters that HCL gives a meaning to.
func textWithout(bad func(rune) bool) *rapid.Generator[string] {
	special := rapid.SampledFrom([]string{"${", "%{", "$${", "\"", "\\", "\n", "\t", "#", "'", "}", "<<EOT\n", "\u00e9", "e\u0301", "\u200d", "\U0001f600", "\ufeff", "for", "null", "true", "_A1"})
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(special, rapid.StringN(0, 5, -1)), 0, 4).Draw(t, "parts")
		return norm.NFC.String(strings.Map(func(r rune) rune {
			if bad(r) {
				return -1
			}
			return r
		}, strings.Join(parts, "")))
	})
}

func hostPath() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		rest := textWithout(func(r rune) bool { return r == '/' || unicode.IsControl(r) }).Draw(t, "file")
		return norm.NFC.String("/opt/x" + rest)
	})
}

func TestEncodeLeavesOutZero(t *testing.T) {
	want := "template \"empty\" {\n  runtimes = []\n}\n"
	if got := string(Encode(yurt.Template{Name: "empty"})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWithDefaultsDoesNotShare(t *testing.T) {
	given := yurt.Template{Name: "x", Runtimes: []string{"a"}, Env: map[string]string{"A": "1"}, RootFS: yurt.RootFS{HostPaths: []string{"/usr"}}}
	got := WithDefaults(given)
	got.Runtimes[0], got.Env["A"], got.RootFS.HostPaths[0] = "b", "2", "/opt"
	want := yurt.Template{Name: "x", Runtimes: []string{"a"}, Env: map[string]string{"A": "1"}, RootFS: yurt.RootFS{HostPaths: []string{"/usr"}}}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("the given template changed:\n%s", diff)
	}
}
