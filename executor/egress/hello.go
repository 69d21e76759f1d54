package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// maxHello bounds the bytes that a client may send before it has named its server.
const maxHello = 64 << 10

var (
	// errHeard ends the handshake once the client has said enough.
	errHeard = errors.New("the name was heard")
	// errOddName is the error for a name that a client must not use.
	errOddName = errors.New("the name is not a host")
)

// readHello reads the beginning of a TLS connection, and returns it with the name of the server in it, or "".
func readHello(client net.Conn, buffered *bufio.Reader) (hello []byte, name string, err error) {
	if err := client.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, "", err
	}
	name, hello, err = parseHello(buffered)
	// Bytes that came with it belong to the connection too.
	if rest, peekErr := buffered.Peek(buffered.Buffered()); peekErr == nil {
		hello = append(hello, rest...)
	}
	return hello, name, errors.Join(err, client.SetReadDeadline(time.Time{}))
}

// parseHello reads a client's first message and no more, and returns the bytes.
func parseHello(from io.Reader) (name string, read []byte, err error) {
	conn := &listening{from: io.LimitReader(from, maxHello)}
	heard := false
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
		name, heard = info.ServerName, true
		return nil, errHeard
	}}
	err = tls.Server(conn, config).HandshakeContext(context.Background()) // the connection has a deadline
	if !heard {
		return "", conn.read.Bytes(), err
	}
	clean, ok := cleanName(name)
	if name != "" && !ok {
		return "", conn.read.Bytes(), errOddName
	}
	return clean, conn.read.Bytes(), nil
}

// listening is a connection whose other side gets no answer.
type listening struct {
	net.Conn
	from io.Reader
	read bytes.Buffer
}

// Read implements net.Conn.
func (l *listening) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	l.read.Write(p[:n])
	return n, err
}

// Write implements net.Conn.
func (l *listening) Write(p []byte) (int, error) { return len(p), nil }

// SetWriteDeadline implements net.Conn.
func (l *listening) SetWriteDeadline(time.Time) error { return nil }

// Close implements net.Conn.
func (l *listening) Close() error { return nil }
