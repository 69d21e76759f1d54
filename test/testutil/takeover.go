package testutil

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/internal/linux/pidfd"
)

// InitSocket returns the socket by which the sandbox's init is asked, by a path short enough
// for an address.
func InitSocket(t testing.TB, stateDir, sandbox string) string {
	t.Helper()
	dir, err := os.Open(filepath.Join(statedir.RunDir("", stateDir), "sandboxes", sandbox))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	path := fmt.Sprintf("/proc/self/fd/%d/init.sock", dir.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TakeOver has something else answer in the place of the sandbox's init, from here on until that
// is ended, as code would that has got the better of it. It answers each connection, and reads
// from one that it is done with until the executor has enough of it.
func TakeOver(t testing.TB, e *executor.Executor, stateDir, sandbox string, answer func(net.Conn) error) {
	t.Helper()
	init := initOf(t, e, sandbox)
	socket := InitSocket(t, stateDir, sandbox)
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // its directory is gone by then
	ended, end := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		defer end()
		if err := init.Wait(); err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer conn.Close()
				stop := context.AfterFunc(ended, func() { conn.Close() })
				defer stop()
				if answer(conn) == nil {
					_, _ = io.Copy(io.Discard, conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = init.Kill() // a test that failed may not have destroyed the sandbox
		work.Wait()
		init.Close()
	})
}

// initOf returns the sandbox's first process.
func initOf(t testing.TB, e *executor.Executor, sandbox string) *pidfd.File {
	t.Helper()
	list, err := e.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.ID == sandbox {
			file, err := pidfd.Open(s.PID)
			if err != nil {
				t.Fatal(err)
			}
			return file
		}
	}
	t.Fatalf("there is no sandbox %s", sandbox)
	return nil
}
