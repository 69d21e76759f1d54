package yurt_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]yurt.Size{
		"0": 0, "1048576": 1 << 20, "512Mi": 512 << 20, "512MiB": 512 << 20, "1.5GB": 1_500_000_000,
		"1k": 1000, " 2 Ki ": 2048, "1Ti": 1 << 40, "-1Mi": -1 << 20, "7B": 7, "1e3": 1000,
	} {
		if got, err := yurt.ParseSize(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Mi", "12 parsecs", "NaN", "Inf", "1e30", "0x", "1,5Gi", "0.5", "1e-40Ki"} {
		if got, err := yurt.ParseSize(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

// TestParseDurationRefusesLessThanItHolds: a duration that rounds to zero would stand for a default.
func TestParseDurationRefusesBeyondItsRange(t *testing.T) {
	for _, text := range []string{"1e-40", "0.0000000001", "-1e-10", "1e20", "13710253h", "-13710253h", "1s789609559830.18m"} {
		if got, err := yurt.ParseDuration(text); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
			t.Errorf("%q is taken for %s, %v", text, got, err)
		}
	}
}

func TestParseCPU(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "0.5": 0.5, "500m": 0.5, " 2 ": 2, "1500m": 1.5, "1e1": 10, "-1": -1} {
		if got, err := yurt.ParseCPU(text); err != nil || got != want {
			t.Errorf("%q is %v cores, %v; want %v", text, got, err, want)
		}
		var cpu yurt.CPU
		if err := json.Unmarshal([]byte(`"`+text+`"`), &cpu); err != nil || float64(cpu) != want {
			t.Errorf("%q in JSON is %v cores, %v; want %v", text, cpu, err, want)
		}
	}
	for _, text := range []string{"", "m", "two", "NaN", "Inf", "1e999", "500M", "1 core"} {
		if got, err := yurt.ParseCPU(text); err == nil {
			t.Errorf("%q is taken for %v cores", text, got)
		}
	}
}

func TestSizesAndDurationsSurviveJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := yurt.Size(rapid.Int64Range(0, 1<<50).Draw(t, "size"))
		if again, err := yurt.ParseSize(size.String()); err != nil || again != size {
			t.Fatalf("%d is written %s and read %d, %v", size, size, again, err)
		}
		d := yurt.Duration(time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)/1e6).Draw(t, "ms")) * time.Millisecond)
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again yurt.Duration
		if err := json.Unmarshal(data, &again); err != nil || (again-d).Std().Abs() > time.Microsecond {
			t.Fatalf("%s is written %s and read %s, %v", d, data, again, err)
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{`30`, `"30s"`, `"1h30m"`, `1e300`, `"NaN"`, `-1`, `"999999999999h"`, `{}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d yurt.Duration
		if err := json.Unmarshal(data, &d); err == nil && d.Std().Abs() > 1<<62 {
			t.Errorf("%s is %d", data, d)
		}
	})
}

func FuzzSize(f *testing.F) {
	for _, seed := range []string{`30`, `"512Mi"`, `"1e300Ti"`, `"NaN"`, `-1`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s yurt.Size
		if err := json.Unmarshal(data, &s); err == nil && (s > 1<<62 || s < -1<<62) {
			t.Errorf("%s is %d", data, s)
		}
	})
}
