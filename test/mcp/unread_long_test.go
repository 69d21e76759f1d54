//go:build long

package mcp_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestUnreadCommandEndsByItself: yurt mcp gives up on an agent that has stopped reading.
func TestUnreadCommandEndsByItself(t *testing.T) {
	cmd, state := unread(t)
	endsWithin(t, cmd, state, 45*time.Second)
}

// TestUnreadAnswerOverHTTP: a server gives up on a client that takes no answer, and serves the others.
func TestUnreadAnswerOverHTTP(t *testing.T) {
	url, client := testutil.Serve(t, yurt(t))
	box, err := client.Create(t.Context(), yurtclient.CreateSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	const size = 15 << 20 // beyond what the kernel holds for both sides
	if _, err := box.Files.Write(t.Context(), "big", make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	hello := `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "unread", "version": "1"}}}`
	answer := ask(t, url, "", hello)
	connection := answer.Header.Get("Mcp-Session-Id")
	read := fmt.Sprintf(`{"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": "yurt://session/%s/big"}}`, box.ID)
	address := strings.TrimPrefix(url, "http://")
	stuck, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Mcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", address, connection, len(read), read)
	if _, err := io.WriteString(stuck, request); err != nil {
		t.Fatal(err)
	}
	time.Sleep(40 * time.Second)
	if status := ask(t, url, connection, `{"jsonrpc": "2.0", "id": 3, "method": "ping"}`).StatusCode; status != http.StatusOK {
		t.Errorf("the connection is answered %d, expected %d", status, http.StatusOK)
	}
	if err := stuck.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.Copy(io.Discard, stuck); got >= size {
		t.Errorf("%d bytes of the answer came after 40 seconds (%v), expected that the server had left it", got, err)
	}
}

// ask sends a message of MCP and reads its answer, whose body is closed.
func ask(t *testing.T, url, connection, message string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-11-25", "Mcp-Session-Id": connection,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp
}
