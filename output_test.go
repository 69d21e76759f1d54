package yurt_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// FuzzTextWriter compares text that comes in pieces with the text of the whole.
func FuzzTextWriter(f *testing.F) {
	for _, seed := range []string{"", "plain", "a\xffb", "\xff\xfe\xfd", "é\xe2\x82", "\xe2\x82\xac\xf0\x9f\x98\x80", "\xf0\x9f\x98x", "\xe2\xe2\x82\xac", "\x80\x80é\x80", "\ufffd\xff"} {
		for _, size := range []byte{1, 2, 3, 7} {
			f.Add([]byte(seed), size)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, size byte) {
		var got bytes.Buffer
		w := yurt.TextWriter{To: &got}
		for rest := data; len(rest) > 0; {
			n := min(len(rest), int(size)%16+1)
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		want := strings.ToValidUTF8(string(data), "\ufffd")
		if got.String() != want || w.Size != int64(len(want)) {
			t.Errorf("%q in pieces of %d became %q of %d bytes, want %q", data, int(size)%16+1, got.String(), w.Size, want)
		}
	})
}
