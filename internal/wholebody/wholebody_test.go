package wholebody

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// request makes a request that says a length, or -1 for no length.
func request(body io.Reader, length int64) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = length
	return r
}

// TestRead: a body arrives whole whatever length the request says, and one beyond the limit is an error.
func TestRead(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", 100_000)} {
		for _, length := range []int64{-1, 0, int64(len(text)), 1 << 40} {
			data, err := Read(httptest.NewRecorder(), request(strings.NewReader(text), length), 1<<20)
			if err != nil || string(data) != text {
				t.Errorf("of %d bytes that were said to be %d came %d, error %v", len(text), length, len(data), err)
			}
		}
	}
	_, err := Read(httptest.NewRecorder(), request(strings.NewReader("more"), 4), 3)
	var tooLarge *http.MaxBytesError
	if !errors.As(err, &tooLarge) {
		t.Errorf("a body beyond the limit has the error %v", err)
	}
}

// TestReadTakesItsLength: a body of 4 MiB takes its memory once, and a body that is said to be long takes no more than some.
func TestReadTakesItsLength(t *testing.T) {
	body := make([]byte, 4<<20)
	for _, test := range []struct {
		sent, said, most int64
	}{{4 << 20, 4 << 20, 5 << 20}, {10, 64 << 20, ahead + 1<<20}} {
		result := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				if _, err := Read(nil, request(bytes.NewReader(body[:test.sent]), test.said), 64<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
		if got := result.AllocedBytesPerOp(); got > test.most {
			t.Errorf("a body of %d bytes that is said to have %d takes %d bytes of memory, want at most %d", test.sent, test.said, got, test.most)
		}
	}
}
