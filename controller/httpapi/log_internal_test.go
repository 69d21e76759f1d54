package httpapi

import (
	"log/slog"
	"net/http"
	"testing"
	"time"
)

// TestRequestLevel: at info a log has requests that failed or were slow, and no others.
func TestRequestLevel(t *testing.T) {
	const sessions, execute = "/api/v1/sessions", "/api/v1/sessions/{id}/execute"
	for _, test := range []struct {
		route  string
		status int
		waited time.Duration
		want   slog.Level
	}{
		{sessions, http.StatusCreated, time.Millisecond, slog.LevelDebug},
		{sessions, http.StatusNotFound, time.Millisecond, slog.LevelDebug},
		{sessions, http.StatusNotImplemented, time.Millisecond, slog.LevelDebug},
		{sessions, http.StatusCreated, slowRequest, slog.LevelInfo},
		{execute, http.StatusOK, time.Hour, slog.LevelDebug}, // of code that takes as long
		{execute, http.StatusInsufficientStorage, time.Millisecond, slog.LevelWarn},
		{routeUnknown, http.StatusInternalServerError, time.Millisecond, slog.LevelWarn},
	} {
		if got := requestLevel(test.route, test.status, test.waited); got != test.want {
			t.Errorf("%s with %d after %s: level %s, want %s", test.route, test.status, test.waited, got, test.want)
		}
	}
}
