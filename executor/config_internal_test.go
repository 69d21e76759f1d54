package executor

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestOpenFilesBoundSandboxes: a bound that is given must have enough open files, the default adapts.
func TestOpenFilesBoundSandboxes(t *testing.T) {
	for _, tt := range []struct {
		limit, sandboxes int
		given            bool
		want             int // 0 for an error
		says             string
	}{
		{limit: 12128, sandboxes: 1000, want: 1000},
		{limit: 12127, sandboxes: 1000, want: 999},
		{limit: 12127, sandboxes: 1000, given: true, says: "1000 sandboxes take up to 12128 open files, and this process may have 12127; raise the hard limit (ulimit -Hn, or LimitNOFILE= of a systemd unit), or give at most 999"},
		{limit: 1024, sandboxes: 1000, want: 74},
		{limit: 1024, sandboxes: 74, given: true, want: 74},
		{limit: 100, sandboxes: 1000, says: "this process may have 100 files open, and one sandbox takes up to 140"},
	} {
		c := Config{MaxSandboxes: tt.sandboxes, Logger: slog.New(slog.DiscardHandler)}
		got, err := c.sandboxBoundBy(tt.limit, tt.given)
		switch {
		case tt.want == 0:
			if yurt.CodeOf(err) == "" || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%d of %d: error %v, want one that says %q", tt.sandboxes, tt.limit, err, tt.says)
			}
		case err != nil || got != tt.want:
			t.Errorf("%d of %d: %d, error %v; want %d", tt.sandboxes, tt.limit, got, err, tt.want)
		}
	}
}
