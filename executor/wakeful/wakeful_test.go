package wakeful

import (
	"encoding/binary"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, limit time.Duration) *Processors {
	t.Helper()
	p, err := Open(limit, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// latency is what the kernel goes by, of all who ask.
func latency(t *testing.T) uint32 {
	t.Helper()
	file, err := os.Open(Device)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var data [4]byte
	if _, err := file.Read(data[:]); err != nil {
		t.Fatal(err)
	}
	return binary.NativeEndian.Uint32(data[:])
}

// awaitSleep returns when nobody keeps the processors awake. Others on the machine do for
// moments.
func awaitSleep(t *testing.T) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); latency(t) == awake; {
		if time.Now().After(until) {
			t.Fatal("they are awake for good")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestHold: processors are awake while anybody waits.
func TestHold(t *testing.T) {
	p := open(t, time.Minute)
	first, second := p.Hold(), p.Hold()
	if got := latency(t); got != awake {
		t.Errorf("with two who wait it is %d µs", got)
	}
	first()
	first()
	time.Sleep(5 * linger)
	if got := latency(t); got != awake {
		t.Errorf("with one who waits it is %d µs", got)
	}
	second()
	awaitSleep(t)
}

// TestLimit: who never releases them keeps them awake for no longer than that.
func TestLimit(t *testing.T) {
	p := open(t, 10*time.Millisecond)
	release := p.Hold()
	awaitSleep(t)
	release() // too late, and without effect
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holds != 0 {
		t.Errorf("%d wait", p.holds)
	}
}

// TestManyHolds has everybody come and go at once.
func TestManyHolds(t *testing.T) {
	p := open(t, 3*time.Millisecond)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 20 {
				release := p.Hold()
				time.Sleep(time.Millisecond)
				release()
			}
		})
	}
	all.Wait()
	awaitSleep(t)
}

// TestClose: they sleep when it is closed, and holding is harmless.
func TestClose(t *testing.T) {
	p := open(t, time.Minute)
	release := p.Hold()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	awaitSleep(t)
	p.Hold()()
	release()
	var none *Processors
	none.Hold()()
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}
