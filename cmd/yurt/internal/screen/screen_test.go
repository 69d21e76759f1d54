package screen_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	"github.com/yurtrun/yurt/test/testutil"
)

func widest(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, runewidth.StringWidth(strings.TrimSuffix(line, "\n")))
	}
	return most
}

func TestTableFits(t *testing.T) {
	const id = "ses_vkogu2e75pqnnhv4t6yi6iibf3"
	head := []string{"id", "template", "state", "age", "reason"}
	rows := [][]string{
		{id, "python-basic", "ready", "3m", "asked for"},
		{"ses_b", "typescript-basic", "failed", "12h", "its sandbox died: the launcher ended before the first process of the sandbox was there"},
		{"ses_c", "日本語日本語日本語", "ready", "1s", "/a/path/without/any/space/that/is/longer/than/the/column/has/room/for"},
	}
	for _, width := range []int{60, 80, 120} {
		shown := screen.Screen{Width: width}.Table(head, rows)
		limit := width
		if width == 60 { // less than the first three columns and the words need
			limit = 80
		}
		if got := widest(shown); got > limit {
			t.Errorf("at %d columns it has %d:\n%s", width, got, shown)
		}
		for _, whole := range []string{id, "typescript-basic", "ready"} {
			if !strings.Contains(shown, whole) {
				t.Errorf("at %d columns %s is not whole:\n%s", width, whole, shown)
			}
		}
		words := strings.Fields(shown)
		for _, word := range []string{"launcher", "process"} {
			if !strings.Contains(strings.Join(words, " "), word) {
				t.Errorf("at %d columns the word %q is lost:\n%s", width, word, shown)
			}
		}
	}
	for _, width := range []int{300, 0} {
		wide := screen.Screen{Width: width}.Table(head, rows)
		if lines := strings.Count(wide, "\n"); lines != len(rows)+1 {
			t.Errorf("at a width of %d it takes %d lines:\n%s", width, lines, wide)
		}
		if strings.Contains(wide, " \n") {
			t.Errorf("at a width of %d spaces end a line:\n%q", width, wide)
		}
	}
}

func TestColors(t *testing.T) {
	rows := [][]string{{"a", "ready"}, {"b", "failed"}}
	if plain := (screen.Screen{Width: 80}).Table([]string{"name", "state"}, rows); strings.Contains(plain, "\x1b") {
		t.Errorf("colours where none are wanted: %q", plain)
	}
	painted := screen.Screen{Width: 80, Color: true}.Table([]string{"name", "state"}, rows)
	for _, want := range []string{"\x1b[1mNAME\x1b[0m", "\x1b[32mready\x1b[0m", "\x1b[31mfailed\x1b[0m"} {
		if !strings.Contains(painted, want) {
			t.Errorf("it lacks %q: %q", want, painted)
		}
	}
}

func TestOf(t *testing.T) {
	_, terminal := testutil.Terminal(t)
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: 101}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	env := map[string]string{}
	getenv := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	for _, tt := range []struct {
		name   string
		stream any
		set    map[string]string
		want   screen.Screen
	}{
		{"terminal", terminal, nil, screen.Screen{Width: 101, Color: true, Terminal: true}},
		{"no colours", terminal, map[string]string{"NO_COLOR": "1"}, screen.Screen{Width: 101, Terminal: true}},
		{"empty", terminal, map[string]string{"NO_COLOR": ""}, screen.Screen{Width: 101, Color: true, Terminal: true}},
		{"dumb", terminal, map[string]string{"TERM": "dumb"}, screen.Screen{Width: 101, Terminal: true}},
		{"file", file, nil, screen.Screen{}},
		{"buffer", &strings.Builder{}, nil, screen.Screen{}},
	} {
		env = tt.set
		if got := screen.Of(tt.stream, getenv); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 17: "17 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 512 << 20: "512 MiB",
		23085449216: "21.5 GiB", 1<<30 - 1: "1 GiB", 1 << 40: "1 TiB", -2048: "-2 KiB",
	} {
		if got := screen.Size(bytes); got != want {
			t.Errorf("Size(%d) = %q, want %q", bytes, got, want)
		}
	}
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 59 * time.Minute: "59m",
		3*time.Hour + time.Minute: "3h", 49 * time.Hour: "2d",
	} {
		if got := screen.Ago(now.Add(-d), now); got != want {
			t.Errorf("Ago(%s) = %q, want %q", d, got, want)
		}
	}
}
