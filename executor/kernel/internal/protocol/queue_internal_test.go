package protocol

import (
	"errors"
	"testing"
	"time"

	"github.com/yurtrun/yurt/executor/initd"
)

// waitingCell is a cell that never has its turn.
type waitingCell struct{ ended chan Outcome }

func (c *waitingCell) ID() string                              { return "exe_waits" }
func (c *waitingCell) Request() Request                        { return Request{} }
func (c *waitingCell) Waits(string)                            {}
func (c *waitingCell) StartClock(func())                       {}
func (c *waitingCell) StopClock()                              {}
func (c *waitingCell) Begin(Process, uint64) error             { return errors.New("its turn came") }
func (c *waitingCell) Keep(uint64, initd.Stream, []byte) error { return nil }
func (c *waitingCell) End(outcome Outcome)                     { c.ended <- outcome }

// TestWaitHasAnEnd: a cell whose turn does not come is ended, here behind a kernel that does not start.
func TestWaitHasAnEnd(t *testing.T) {
	release := make(chan struct{})
	stopped := make(chan struct{})
	start := func() (Process, error) {
		<-release
		return nil, ErrClosing
	}
	c := New(start, func(do func()) {
		go func() {
			defer close(stopped)
			do()
		}()
	}, func(bool) {}, false)
	c.maxWait = noticeAfter + 50*time.Millisecond
	cell := &waitingCell{make(chan Outcome, 1)}
	if err := c.Submit(cell); err != nil {
		t.Fatal(err)
	}
	select {
	case outcome := <-cell.ended:
		if outcome.Overdue != c.maxWait {
			t.Errorf("it ended with %+v, want it overdue after %s", outcome, c.maxWait)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits on")
	}
	close(release)
	<-stopped
}
