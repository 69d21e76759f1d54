package httpapi_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// raw sends a request whose answer is not decompressed, and returns the answer with its body as it came.
func (s *server) raw(t *testing.T, path string, header map[string]string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

func TestCompression(t *testing.T) {
	s := newServer(t)
	for n := range 20 {
		s.do(t, "POST", "/api/v1/templates", fmt.Sprintf(`{"name":"zz-%02d"}`, n))
	}
	const list = "/api/v1/templates?name_prefix=zz-"
	_, plain := s.raw(t, list, nil)
	decode := map[string]func(string) (io.Reader, error){
		"":     func(body string) (io.Reader, error) { return strings.NewReader(body), nil },
		"gzip": func(body string) (io.Reader, error) { return gzip.NewReader(strings.NewReader(body)) },
		"zstd": func(body string) (io.Reader, error) {
			return zstd.NewReader(strings.NewReader(body), zstd.WithDecoderConcurrency(1))
		},
	}
	for accepted, encoding := range map[string]string{"": "", "identity": "", "br": "", "gzip": "gzip", "zstd": "zstd", "gzip, zstd;q=0": "gzip", "gzip, deflate, br, zstd": "zstd"} {
		answer, body := s.raw(t, list, map[string]string{"Accept-Encoding": accepted})
		if got := answer.Header.Get("Content-Encoding"); got != encoding || answer.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q got encoding %q, Vary %q; want %q", accepted, got, answer.Header.Get("Vary"), encoding)
			continue
		}
		reader, err := decode[encoding](body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil || string(text) != plain {
			t.Errorf("Accept-Encoding %q: the text differs, error %v", accepted, err)
		}
		if encoding != "" && len(body) > len(plain)/4 {
			t.Errorf("%s made %d of %d bytes", encoding, len(body), len(plain))
		}
	}
}

// TestNotCompressed: small answers, streams, files and parts of files go out as they are.
func TestNotCompressed(t *testing.T) {
	s := newServer(t)
	session := "/api/v1/sessions/" + s.session(t, "shell-basic")
	s.do(t, "PUT", session+"/files/a.txt", strings.Repeat("a", 4096))
	a := s.do(t, "POST", session+"/execute", `{"command": "true"}`)
	var done struct {
		ID string `json:"execution_id"`
	}
	a.decode(t, &done)
	for path, header := range map[string]map[string]string{
		session:                   {},
		session + "/files/a.txt":  {},
		session + "/files/a.txt?": {"Range": "bytes=0-2047"},
		session + "/executions/" + done.ID + "/events": {"Accept": "text/event-stream"},
	} {
		header["Accept-Encoding"] = "gzip, zstd"
		answer, body := s.raw(t, path, header)
		if answer.StatusCode >= 300 || answer.Header.Get("Content-Encoding") != "" || body == "" {
			t.Errorf("%s: status %d, encoding %q, %d bytes", path, answer.StatusCode, answer.Header.Get("Content-Encoding"), len(body))
		}
	}
}
