package schema

import (
	"bytes"
	"testing"
)

// TestWellFormed: each kind of value, whole and torn, alone and in others.
func TestWellFormed(t *testing.T) {
	for _, value := range [][]byte{
		{0x00},
		{0x7f},
		{0xff},
		{0xc0},
		{0xc2},
		{0xc3},
		{0xa0},
		{0xa2, 'a', 'b'},
		{0x90},
		{0x80},
		{0x92, 1, 2},
		{0x81, 0xa1, 'x', 0xc0},
		{0xc4, 1, 0},
		{0xc5, 0, 1, 0},
		{0xc6, 0, 0, 0, 1, 0},
		{0xc7, 1, 0, 0},
		{0xc8, 0, 1, 0, 0},
		{0xc9, 0, 0, 0, 1, 0, 0},
		{0xca, 0, 0, 0, 0},
		{0xcb, 0, 0, 0, 0, 0, 0, 0, 0},
		{0xcc, 0},
		{0xcd, 0, 0},
		{0xce, 0, 0, 0, 0},
		{0xcf, 0, 0, 0, 0, 0, 0, 0, 0},
		{0xd0, 0},
		{0xd1, 0, 0},
		{0xd2, 0, 0, 0, 0},
		{0xd3, 0, 0, 0, 0, 0, 0, 0, 0},
		{0xd4, 0, 0},
		{0xd5, 0, 0, 0},
		{0xd6, 0, 0, 0, 0, 0},
		{0xd7, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		append([]byte{0xd8, 0}, make([]byte, 16)...),
		{0xd9, 1, 'a'},
		{0xda, 0, 1, 'a'},
		{0xdb, 0, 0, 0, 1, 'a'},
		{0xdc, 0, 1, 7},
		{0xdd, 0, 0, 0, 1, 7},
		{0xde, 0, 1, 7, 7},
		{0xdf, 0, 0, 0, 1, 7, 7},
	} {
		list := bytes.Join([][]byte{{0x93}, value, value, value}, nil)
		if err := wellFormed(value); err != nil {
			t.Errorf("%x: %v", value, err)
		}
		if err := wellFormed(list); err != nil {
			t.Errorf("%x: %v", list, err)
		}
		for cut := range value {
			if wellFormed(value[:cut]) == nil {
				t.Errorf("%x is cut at %d and taken for whole", value, cut)
			}
		}
	}
	for name, bad := range map[string][]byte{
		"no kind": {0xc1}, "a list of 3.7 billion": {0xdd, 0xdd, 0xdd, 0xdd, 0xdd, 0}, "a map of 4 billion": {0xdf, 0xff, 0xff, 0xff, 0xff, 0},
		"nested": bytes.Repeat([]byte{0x91}, 1000), "a long string": {0xdb, 0xff, 0xff, 0xff, 0xff, 'a'},
		"no number": {0xca, 0x7f, 0x9c, 0, 0}, "none of 8 bytes": {0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0},
	} {
		if wellFormed(bad) == nil {
			t.Errorf("%s is taken for whole", name)
		}
	}
}
