package storetest

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt/controller/contract"
)

// testClock is about a store that has a clock. Its server is on this machine.
func testClock(t *testing.T, shared contract.Store) {
	store, ok := shared.(contract.ClockStore)
	if !ok {
		return
	}
	var last time.Time
	for range 3 {
		now, err := store.StoreClock(t.Context())
		if err != nil || now.Before(last) || time.Since(now).Abs() > time.Minute {
			t.Errorf("it says %s, after %s; error %v", now, last, err)
		}
		last = now
	}
}
