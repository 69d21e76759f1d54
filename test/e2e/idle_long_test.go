//go:build long

package e2e

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestIdleConnectionIsClosed: a connection that has no request for two minutes is closed. Clients cannot hold all connections of a server.
func TestIdleConnectionIsClosed(t *testing.T) {
	const idle, tolerance = 2 * time.Minute, 15 * time.Second
	_, server := serveProcess(t)
	address := strings.TrimPrefix(server.URL, "http://")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: "+address+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("/health answered %s, %v", response.Status, err)
	}
	answered := time.Now()
	if err := conn.SetReadDeadline(answered.Add(idle + tolerance)); err != nil {
		t.Fatal(err)
	}
	_, err = reader.ReadByte()
	if took := time.Since(answered); !errors.Is(err, io.EOF) || took < idle-tolerance {
		t.Errorf("after %s the connection ended with %v, want its end after %s", took, err, idle)
	}
}
