package logfiles

import (
	"bytes"
	"testing"
)

// FuzzJournal reads journals of any bytes: a valid journal is encoded to the same bytes again.
func FuzzJournal(f *testing.F) {
	f.Add(entry{}.encode())
	f.Add(entry{seq: 7, before: [streams]place{{1, 2}, {3, 4}}, after: [streams]place{{1, 9}, {3, 4}}, others: 2}.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeEntry(data)
		if err == nil && !bytes.Equal(e.encode(), data) {
			t.Fatalf("%v is written as %x, and was read from %x", e, e.encode(), data)
		}
	})
}

// FuzzSplit splits any chunk at any place: all of it goes somewhere, in order, and into no
// file more than fits.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("one\ntwo\nthree"), uint16(3), uint16(8))
	f.Add([]byte("a line that fits into no file at all"), uint16(0), uint16(4))
	f.Fuzz(func(t *testing.T, data []byte, offset, limit uint16) {
		most := int64(limit) + 1
		at := place{index: 5, offset: min(int64(offset), most)}
		var got []byte
		for _, p := range split(at, data, most) {
			if p.at.offset+int64(len(p.data)) > most || len(p.data) == 0 {
				t.Fatalf("%d bytes at %v, and a file takes %d", len(p.data), p.at, most)
			}
			got = append(got, p.data...)
		}
		if !bytes.Equal(got, data) {
			t.Fatalf("%q was split to %q", data, got)
		}
	})
}
