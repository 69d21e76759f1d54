package storetest

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt/controller"
)

// testClock is about a store that has a clock. Its server is on this machine.
func testClock(t *testing.T, shared controller.Store) {
	store, ok := shared.(controller.ClockStore)
	if !ok {
		return
	}
	var last time.Time
	for _, noted := range []time.Duration{0, 2*time.Hour + 1, -3 * time.Hour} {
		if noted != 0 {
			if err := store.NoteBehind(t.Context(), noted); err != nil {
				t.Fatal(err)
			}
		}
		now, behind, err := store.StoreClock(t.Context())
		if err != nil || behind != noted {
			t.Errorf("it is noted to be %s away, want %s; error %v", behind, noted, err)
		}
		if now.Before(last) || time.Since(now).Abs() > time.Minute {
			t.Errorf("it says %s, after %s", now, last)
		}
		last = now
	}
}
