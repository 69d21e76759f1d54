package schema

import (
	"encoding/binary"
	"errors"
	"math"
)

// maxNesting is how deep a configuration may be nested; the schema's is three.
const maxNesting = 32

// wellFormed refuses MessagePack that promises more values than it has bytes, or nests them without end, since a decoder makes
// room for them. It also refuses fractions that are no number, on which the decoder panics.
func wellFormed(data []byte) error {
	left := []int{1} // values that are to come, by how deep they are
	for len(left) > 0 {
		last := len(left) - 1
		if left[last] == 0 {
			left = left[:last]
			continue
		}
		left[last]--
		size, values, ok := header(data)
		if !ok || size > len(data) || values > len(data)-size {
			return errors.New("it ends in the middle of a value")
		}
		if math.IsNaN(fractionIn(data)) {
			return errors.New("it has a fraction that is no number")
		}
		data = data[size:]
		if values > 0 {
			if len(left) >= maxNesting {
				return errors.New("it is nested too deep")
			}
			left = append(left, values)
		}
	}
	return nil
}

// header returns how long the value at the beginning of data is, without the values in it,
// and how many these are.
func header(data []byte) (size, values int, ok bool) {
	if len(data) == 0 {
		return 0, 0, false
	}
	switch c := int(data[0]); {
	case c <= 0x7f || c >= 0xe0: // small numbers
		return 1, 0, true
	case c <= 0x8f:
		return 1, 2 * (c & 0xf), true
	case c <= 0x9f:
		return 1, c & 0xf, true
	case c <= 0xbf:
		return 1 + c&0x1f, 0, true
	case c >= 0xdc: // lists, and maps
		n, ok := length(data, 2<<(c&1))
		return 1 + 2<<(c&1), n * (1 + (c-0xdc)/2), ok
	case c >= 0xd9: // strings
		n, ok := length(data, 1<<(c-0xd9))
		return 1 + 1<<(c-0xd9) + n, 0, ok
	case c >= 0xd4: // extensions of 1 to 16 bytes
		return 2 + 1<<(c-0xd4), 0, true
	case c >= 0xcc: // numbers of 1 to 8 bytes
		return 1 + 1<<(c&3), 0, true
	case c >= 0xca: // fractions of 4 and 8
		return 1 + 4<<(c&1), 0, true
	case c >= 0xc7: // other extensions
		n, ok := length(data, 1<<(c-0xc7))
		return 2 + 1<<(c-0xc7) + n, 0, ok
	case c >= 0xc4: // bytes
		n, ok := length(data, 1<<(c-0xc4))
		return 1 + 1<<(c-0xc4) + n, 0, ok
	default:
		return 1, 0, c != 0xc1
	}
}

// fractionIn returns the whole value at the beginning of data if that is a fraction, else 0.
func fractionIn(data []byte) float64 {
	switch data[0] {
	case 0xca:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(data[1:])))
	case 0xcb:
		return math.Float64frombits(binary.BigEndian.Uint64(data[1:]))
	default:
		return 0
	}
}

// length reads a number of so many bytes after the first.
func length(data []byte, size int) (n int, ok bool) {
	if len(data) < 1+size {
		return 0, false
	}
	for _, b := range data[1 : 1+size] {
		n = n<<8 | int(b)
	}
	return n, n >= 0
}
