package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/yurtrun/yurt/plugins/internal/text"
)

// Bounds of the part of a plugin's standard error that a message shows.
const (
	tailBytes     = 4 << 10
	tailLines     = 5
	tailLineRunes = 200
)

// tail keeps the last bytes that were written to it. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	kept []byte // guarded by mu
}

// Write never fails.
func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, data[max(0, len(data)-tailBytes):]...)
	t.kept = t.kept[max(0, len(t.kept)-tailBytes):]
	return len(data), nil
}

// String returns the last lines for a message: cleaned, short, joined by " | ".
func (t *tail) String() string {
	t.mu.Lock()
	text := string(t.kept)
	t.mu.Unlock()
	var lines []string
	for line := range strings.Lines(text) {
		if line = readable(strings.TrimSpace(line)); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-tailLines):], " | ")
}

// readable turns a line of hclog's JSON into its message and cleans any other line.
func readable(line string) string {
	var entry struct {
		Message string `json:"@message"`
		Error   any    `json:"error"`
	}
	if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &entry) == nil && entry.Message != "" {
		line = entry.Message
		if entry.Error != nil {
			line += fmt.Sprintf(": %v", entry.Error)
		}
	}
	line = text.Clean(line)
	if runes := []rune(line); len(runes) > tailLineRunes {
		line = string(runes[:tailLineRunes]) + "…"
	}
	return line
}

// brief shows an error that may hold text from a runtime.
func brief(err error) string { return text.Cut(text.Clean(err.Error()), 500) }
