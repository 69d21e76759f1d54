package screen_test

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
)

// lines is a writer that several goroutines may use.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// until returns the text once it holds a part.
func (l *lines) until(t *testing.T, part string) string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if text := l.String(); strings.Contains(text, part) {
			return text
		}
	}
	t.Fatalf("%q is not in %q", part, l.String())
	return ""
}

func TestWait(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		screen screen.Screen
		line   string
		ends   string
	}{
		{"file", screen.Screen{Width: 80}, "yurt: compiling (2 s)\n", "(2 s)\n"},
		{"terminal", screen.Screen{Width: 80, Terminal: true}, " compiling (2 s)", "\r\x1b[K"},
		{"narrow terminal", screen.Screen{Width: 12, Terminal: true}, " compiling", "\r\x1b[K"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out lines
			w := screen.NewWait(&out, tt.screen, "compiling")
			out.until(t, tt.line)
			w.End()
			w.End()
			shown := out.String()
			if !strings.HasSuffix(shown, tt.ends) {
				t.Errorf("after the end it is %q", shown)
			}
			if tt.screen.Terminal {
				for piece := range strings.SplitSeq(shown, "\r\x1b[K") {
					if len(piece) >= tt.screen.Width {
						t.Errorf("%q does not fit %d columns", piece, tt.screen.Width)
					}
				}
			}
			time.Sleep(300 * time.Millisecond)
			if after := out.String(); after != shown {
				t.Errorf("it goes on after the end: %q", after)
			}
		})
	}
}

// TestWaitIsSilent for as long as there is output, and where there is no need for words.
func TestWaitIsSilent(t *testing.T) {
	t.Parallel()
	var out, program lines
	w := screen.NewWait(&out, screen.Screen{Width: 80}, "installing packages")
	defer w.End()
	for range 6 {
		time.Sleep(500 * time.Millisecond)
		if _, err := w.Write(&program, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	w.Phase("")
	time.Sleep(2500 * time.Millisecond)
	if got := out.String(); got != "" || program.String() != "xxxxxx" {
		t.Errorf("it says %q beside %q", got, program.String())
	}
	w.Phase("compiling")
	out.until(t, "yurt: compiling (2 s)\n")
	var none *screen.Wait
	none.Phase("x")
	none.End()
	if _, err := none.Write(os.Stderr, nil); err != nil {
		t.Error(err)
	}
}
