package nomad

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/test/testutil"
)

// slowReader digests its input, and pauses for a while at each of the given places.
type slowReader struct {
	hash.Hash
	size   int
	pauses []int // in bytes from the beginning
}

func (r *slowReader) Write(data []byte) (int, error) {
	for r.size += len(data); len(r.pauses) > 0 && r.size > r.pauses[0]; r.pauses = r.pauses[1:] {
		time.Sleep(2 * time.Second)
	}
	return r.Hash.Write(data)
}

// streams has commands in a task write more than is kept of any other execution, to a reader that
// stops and goes on, and to one that leaves.
func (n *node) streams(t *testing.T) {
	n.job(t, task("streams", "service", "echo begun; exec sleep 3600", `kill_timeout = "1s"`))
	alloc := n.WaitRunning(t, "streams")
	const lines = 26_000_000 // in more than 200 MiB
	want, line := sha256.New(), []byte(nil)
	for i := range lines {
		if line = append(strconv.AppendInt(line, int64(i+1), 10), '\n'); len(line) > 1<<16 {
			want.Write(line)
			line = line[:0]
		}
	}
	want.Write(line)
	got := &slowReader{Hash: sha256.New(), pauses: []int{1 << 20, 100 << 20}}
	code, err := n.API.Allocations().Exec(t.Context(), alloc, "t", false, []string{"sh", "-c", fmt.Sprintf("seq %d; exit 6", lines)}, strings.NewReader(""), got, io.Discard, nil, nil)
	if err != nil || code != 6 || got.size < 200<<20 || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Errorf("%d bytes came, and it ended with %d, %v", got.size, code, err)
	}
	n.leaves(t, alloc)
}

// leaves goes away while a command runs, which is ended then with all that it started.
func (n *node) leaves(t *testing.T, alloc *nomad.Allocation) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, begun := io.Pipe()
	go func() {
		_, _ = out.Read(make([]byte, 1))
		cancel()
	}()
	_, err := n.API.Allocations().Exec(ctx, alloc, "t", false, []string{"sh", "-c", "(setsid sleep 4711 &) ; echo begun; sleep 4712"}, strings.NewReader(""), begun, io.Discard, nil, nil)
	if err == nil {
		t.Error("it ended by itself")
	}
	testutil.Eventually(t, "nothing of it is left", func() bool {
		running, _, _ := n.Exec(t, alloc, "t", "", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
		return strings.Contains(running, "sleep 3600") && !strings.Contains(running, "sleep 471")
	})
}
