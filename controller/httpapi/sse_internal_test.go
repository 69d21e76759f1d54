package httpapi

import (
	"net/http/httptest"
	"testing"
	"time"
)

// counter counts the times that an answer is written to, and that it is flushed.
type counter struct {
	*httptest.ResponseRecorder
	writes, flushes int
}

func (c *counter) Write(data []byte) (int, error) {
	c.writes++
	return c.ResponseRecorder.Write(data)
}

func (c *counter) Flush() { c.flushes++ }

// TestShortStreamIsOneWrite: a stream that has ended when it is first written costs its client one read: the head waits for the
// events, and the server flushes the last of them with the end of the answer.
func TestShortStreamIsOneWrite(t *testing.T) {
	w := &counter{ResponseRecorder: httptest.NewRecorder()}
	s := newEventStream(w)
	for seq, kind := range []string{"started", "ended"} {
		if err := s.send(uint64(seq+1), kind, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.close("")
	if !s.write(time.Minute) || w.writes != 1 || w.flushes != 0 {
		t.Errorf("the stream was written %d times and flushed %d times, expected one write that the server flushes", w.writes, w.flushes)
	}
}

// TestLastEventWaitsForTheEnd: the last event is not written before the stream is closed, unless that takes long.
func TestLastEventWaitsForTheEnd(t *testing.T) {
	s, began := newEventStream(httptest.NewRecorder()), time.Now()
	if err := s.send(1, "ended", nil); err != nil {
		t.Fatal(err)
	}
	if len(s.wake) > 0 && time.Since(began) < joinLimit {
		t.Error("the writer is told of the last event at once, expected it to wait for the end of the stream")
	}
	select {
	case <-s.wake:
	case <-time.After(10 * time.Second):
		t.Error("the writer is not told of the last event, expected it to be written without an end of the stream")
	}
}

// TestNoHeartbeatAfterTheEnd: a heartbeat that is due while the last event waits does not say that the execution is still running.
func TestNoHeartbeatAfterTheEnd(t *testing.T) {
	w := httptest.NewRecorder()
	s := newEventStream(w)
	if err := s.send(1, "ended", nil); err != nil {
		t.Fatal(err)
	}
	s.beat()
	s.close("")
	s.write(time.Minute)
	if got, want := w.Body.String(), "id: 1\nevent: ended\ndata: null\n\n"; got != want {
		t.Errorf("the stream is %q, want %q", got, want)
	}
}
