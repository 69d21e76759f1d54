package notify_test

import (
	"testing"

	"github.com/yurtrun/yurt/executor/notify"
)

// TestHub delivers a notification to the subscribers of its name and of every name, merges those that come at once,
// and delivers no notification after cancel.
func TestHub(t *testing.T) {
	hub := notify.NewHub()
	one, cancelOne := hub.Subscribe("one")
	again, cancelAgain := hub.Subscribe("one")
	two, cancelTwo := hub.Subscribe("two")
	anything, cancelAny := hub.Subscribe(notify.Any)
	want := func(when string, counts ...int) {
		t.Helper()
		for i, channel := range []<-chan struct{}{one, again, two, anything} {
			if got := len(channel); got != counts[i] {
				t.Errorf("%s: subscriber %d has %d notifications, want %d", when, i, got, counts[i])
			}
			for len(channel) > 0 {
				<-channel
			}
		}
	}
	hub.Notify("one")
	hub.Notify("one")
	want("two notifications of one", 1, 1, 0, 1)
	cancelAgain()
	cancelAgain()
	hub.Notify("one")
	hub.Notify("two")
	want("after a cancellation", 1, 0, 1, 1)
	hub.Notify(notify.Any)
	want("a notification of any", 0, 0, 0, 1)
	cancelOne()
	cancelTwo()
	cancelAny()
	for _, name := range []string{"one", "two", notify.Any} {
		hub.Notify(name)
	}
	want("without subscribers", 0, 0, 0, 0)
}
