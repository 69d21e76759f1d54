package cpuidle

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
	device, err := OpenDevice()
	if err != nil {
		t.Fatal(err)
	}
	p := Open(device, limit, slog.New(slog.NewTextHandler(t.Output(), nil)))
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// latency returns the lowest latency that any process asks the kernel for.
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

// awaitSleep returns when no process keeps the processors awake. Others on the machine do so for
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

// TestHold keeps processors awake while a request waits.
func TestHold(t *testing.T) {
	p := open(t, time.Minute)
	first, second := p.Hold(), p.Hold()
	if got := latency(t); got != awake {
		t.Errorf("the latency is %d µs while two requests wait, want 0", got)
	}
	first()
	first()
	time.Sleep(5 * linger)
	if got := latency(t); got != awake {
		t.Errorf("the latency is %d µs while one request waits, want 0", got)
	}
	second()
	awaitSleep(t)
}

// TestLimit lets processors sleep after the limit where a request never ends.
func TestLimit(t *testing.T) {
	p := open(t, 10*time.Millisecond)
	release := p.Hold()
	awaitSleep(t)
	release() // too late, and without effect
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holds != 0 {
		t.Errorf("%d requests wait, want 0", p.holds)
	}
}

// TestManyHolds has many requests come and go at once.
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

// TestClose lets processors sleep after Close, when Hold has no effect.
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
