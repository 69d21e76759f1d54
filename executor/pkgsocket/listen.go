package pkgsocket

import (
	"context"
	"net"

	"golang.org/x/sys/unix"
)

// Where every sandbox whose sessions may install packages has the socket.
const (
	Dir  = "/run/yurt" // which only the node writes to
	Name = "packages.sock"
	Path = Dir + "/" + Name
)

// Backlog is how many connections wait in the kernel for the server. The next one waits in connect.
const Backlog = 8

// Dial connects to the node's socket from inside the sandbox.
func Dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", Path)
}

// PeerPID returns the process that connected, by its number here; 0 where it is not known.
func PeerPID(conn net.Conn) int {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return 0
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	_ = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(peer.Pid)
		}
	})
	return pid
}
