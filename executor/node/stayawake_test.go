package node_test

import (
	"context"
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/yurtrun/yurt/executor/cpuidle"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestProcessorsStayAwake while a request waits for a sandbox or a short execution, and not while it waits
// for a long one.
func TestProcessorsStayAwake(t *testing.T) {
	config := testutil.Config(t, testutil.Build(t))
	config.StayAwake = 25 * time.Millisecond
	e := testutil.Start(t, config)
	spec := testutil.Spec()
	made := make(chan error, 1)
	go func() {
		_, err := e.CreateSandbox(t.Context(), spec)
		made <- err
	}()
	awaitLatency(t, true)
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	awaitLatency(t, false)

	long := testutil.Command("sleep 1000")
	ended := make(chan error, 1)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() {
		err := e.StartExecution(ctx, spec.ID, long)
		if err == nil {
			_, err = e.WaitExecution(ctx, spec.ID, long.ID)
		}
		ended <- err
	}()
	awaitLatency(t, true)
	awaitLatency(t, false)
	select {
	case err := <-ended:
		t.Errorf("it has ended: %v", err)
	default:
	}
	leave()
	<-ended
}

// awaitLatency returns when processors are kept awake, or are not. Other programs on the machine may keep them awake
// for moments as well, which it cannot distinguish.
func awaitLatency(t *testing.T, awake bool) {
	t.Helper()
	file, err := os.Open(cpuidle.Device)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		var data [4]byte
		if _, err := file.ReadAt(data[:], 0); err != nil {
			t.Fatal(err)
		}
		if (binary.NativeEndian.Uint32(data[:]) == 0) == awake {
			return
		}
	}
	t.Fatalf("it never was %t that they are awake", awake)
}
