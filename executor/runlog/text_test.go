package runlog

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTextOfALog: the text of each stream equals [strings.ToValidUTF8] of all of it, from any offset on.
func TestTextOfALog(t *testing.T) {
	place := Place{Path: filepath.Join(t.TempDir(), "log"), Overflow: filepath.Join(t.TempDir(), "rest"), Memory: NewMemory(1 << 20)}
	l, err := Create(place)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var raw [2]bytes.Buffer
	pieces := []string{"plain ", "\xe2\x82", "\xac and \xff\xff", "\xff", strings.Repeat("\x00", 50_000), "é", "\xf0\x9f"}
	for i := range 40 {
		piece := []byte(pieces[i%len(pieces)])
		kind := []Kind{Stdout, Stderr}[i/len(pieces)%2]
		add(t, l, Entry{kind, time.Unix(1, 0), piece}, Entry{Control, time.Unix(1, 0), []byte("{}")})
		raw[kind-Stdout].Write(piece)
	}
	add(t, l, Entry{Ended, time.Unix(2, 0), []byte("end")})
	if l.rest == nil {
		t.Fatal("the log is in memory alone")
	}
	for i, kind := range []Kind{Stdout, Stderr} {
		want := strings.ToValidUTF8(raw[i].String(), "\ufffd")
		for _, from := range []int{0, 1, len(want) / 2, len(want), len(want) + 1} {
			text, err := l.OpenText(kind, int64(from))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(text)
			if err != nil || string(got) != want[min(from, len(want)):] {
				t.Errorf("kind %d from %d: %d bytes, %v; want %d", kind, from, len(got), err, len(want)-min(from, len(want)))
			}
		}
	}
	if end, err := l.End(); err != nil || string(end.Data) != "end" {
		t.Errorf("the end is %q, %v", end.Data, err)
	}
	if want := int64(40*len("{}") + len("end")); l.Beside() != want {
		t.Errorf("%d bytes are beside the output, want %d", l.Beside(), want)
	}
}

// TestClosedLogStaysReadable: a caller with a result reads its large output also when the sandbox is destroyed meanwhile.
func TestClosedLogStaysReadable(t *testing.T) {
	l, path := create(t)
	large := bytes.Repeat([]byte("x"), 100_000)
	add(t, l, Entry{Stdout, time.Unix(1, 0), large}, Entry{Stdout, time.Unix(1, 0), large}, Entry{Ended, time.Unix(2, 0), []byte("end")})
	if err := errors.Join(l.Close(), Remove(Place{Path: path})); err != nil {
		t.Fatal(err)
	}
	text, err := l.OpenText(Stdout, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(text); err != nil || len(got) != 2*len(large) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, 2*len(large))
	}
	if err := l.closeFiles(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.OpenText(Stdout, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("after that it says %v, want %v", err, ErrClosed)
	}
}
