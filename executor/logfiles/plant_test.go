package logfiles_test

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func mkfifo(t *testing.T, path string) error {
	t.Helper()
	return unix.Mkfifo(path, 0o600)
}

func mksocket(t *testing.T, path string) error {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err == nil {
		t.Cleanup(func() { listener.Close() })
	}
	return err
}
