package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/yurtrun/yurt"
)

// maxSocketPath is how long the path of a Unix socket may be, in bytes.
const maxSocketPath = 107

// listenPatience is how long an executor that was killed may take to be gone.
const listenPatience = 3 * time.Second

// ListenUnix makes the socket at path, for this user alone. It replaces a socket on which no process listens any more.
// Closing the listener removes it.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the socket: %w", err)
	}
	temp := path + "." + strconv.Itoa(os.Getpid())
	if len(temp) > maxSocketPath {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "listen", "the path %s has %d bytes; give one of at most %d, which is what Linux takes for a socket",
			path, len(path), maxSocketPath-len(temp)+len(path))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making the socket's directory: %w", err)
	}
	if err := awaitOther(ctx, path); err != nil {
		return nil, err
	}
	// The file gets its mode from that of the socket, so that no other user may open it at any time.
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		return errors.Join(raw.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) }), err)
	}}
	opened, err := config.Listen(ctx, "unix", temp)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	listener, ok := opened.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("listening on %s: it is a %T", path, opened), opened.Close())
	}
	listener.SetUnlinkOnClose(false)
	if err := os.Rename(temp, path); err != nil {
		return nil, errors.Join(fmt.Errorf("listening on %s: %w", path, err), listener.Close(), os.Remove(temp))
	}
	return &unixListener{listener, path}, nil
}

// awaitOther returns when no process listens on the path. An executor whose broker was killed listens until it has ended too. It fails
// if a process still listens some seconds later.
func awaitOther(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, listenPatience)
	defer cancel()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "unix", path)
		if err == nil {
			conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
			return nil
		}
		select {
		case <-ctx.Done():
			return yurt.FieldErrorf(yurt.CodeUnavailable, "listen", "another process listens on %s; stop it or give another path", path)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// unixListener removes its socket, which is its own as long as it listens.
type unixListener struct {
	*net.UnixListener
	path string
}

func (l *unixListener) Close() error {
	err := os.Remove(l.path)
	if errors.Is(err, os.ErrNotExist) { // closed before, or another process removed it
		err = nil
	}
	return errors.Join(err, l.UnixListener.Close())
}

// peerCredentials lets in root and the user that this process runs as.
type peerCredentials struct{ logger *slog.Logger }

func (p *peerCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	uid, err := peerUID(conn)
	if err == nil && uid != 0 && int(uid) != os.Geteuid() {
		err = fmt.Errorf("user %d may not use this executor; root and user %d may", uid, os.Geteuid())
	}
	if err != nil {
		p.logger.Warn("caller refused", "error", err)
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, localInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, nil
}

func peerUID(conn net.Conn) (uint32, error) {
	local, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("%s is no Unix socket", conn.LocalAddr())
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("reading the caller's credentials: %w", err)
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err := errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("reading the caller's credentials: %w", err)
	}
	return peer.Uid, nil
}

// ClientHandshake is the server's alone to need.
func (p *peerCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return insecure.NewCredentials().ClientHandshake(ctx, authority, conn)
}

func (p *peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "local"}
}

func (p *peerCredentials) Clone() credentials.TransportCredentials { return p }

func (p *peerCredentials) OverrideServerName(string) error { return nil }

// localInfo says that the caller is on this machine.
type localInfo struct{ credentials.CommonAuthInfo }

// AuthType implements credentials.AuthInfo.
func (localInfo) AuthType() string { return "local" }
