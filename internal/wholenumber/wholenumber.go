// Package wholenumber reads whole numbers in each form that JSON Schema takes for an integer.
package wholenumber

import (
	"math"
	"strconv"
)

// Plain writes a whole number such as 1.0 or 1e2 without a fraction and an exponent. It returns other values as they are, and
// also numbers from 2^53 on, as a float64 does not hold all of them.
func Plain(raw []byte) []byte {
	const exact = 1 << 53
	number, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) >= exact {
		return raw
	}
	return strconv.AppendInt(nil, int64(number), 10)
}
