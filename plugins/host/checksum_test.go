package host

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

func TestChecksums(t *testing.T) {
	t.Parallel()
	dir := pluginDir(t, "good", "better", "other")
	binary, err := os.ReadFile(filepath.Join(dir, plugins.BinaryPrefix+"good"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(binary)
	sums, err := ParseChecksums(hex.EncodeToString(sum[:]) + "  plugins/yurt-runtime-good\n" + strings.Repeat("0", 64) + " *yurt-runtime-better\n")
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, dir, WithChecksums(sums))
	mustPlan(t, h, "good", "pid")
	_, err = h.Plan(t.Context(), request("better", ""))
	wantError(t, err, yurt.CodeRuntimeUnavailable, "runtime better is not started", hex.EncodeToString(sum[:]), strings.Repeat("0", 64))
	_, err = h.Plan(t.Context(), request("other", ""))
	wantError(t, err, yurt.CodeRuntimeUnavailable, "runtime other is not started", "do not have it")
}

func TestParseChecksums(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("aB", 32)
	got, err := ParseChecksums("\n" + sum + "  /opt/yurt-runtime-c++\n" + sum + " *yurt-runtime-c++\n")
	if err != nil || !maps.Equal(got, map[string]string{"c++": strings.ToLower(sum)}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := ParseChecksums(""); err != nil || got == nil {
		t.Errorf("an empty list allows %v, %v; it must allow none", got, err)
	}
	for name, text := range map[string]string{
		"no sum":      "yurt-runtime-c",
		"short":       "abcd  yurt-runtime-c",
		"not hex":     strings.Repeat("xy", 32) + "  yurt-runtime-c",
		"other files": sum + "  yurt",
		"no name":     sum + "  yurt-runtime-",
		"two sums":    sum + "  yurt-runtime-c\n" + strings.Repeat("0", 64) + "  yurt-runtime-c",
		"too long":    strings.Repeat("\n", MaxChecksumBytes+1),
	} {
		if _, err := ParseChecksums(text); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
