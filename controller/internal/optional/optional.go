// Package optional reads the fields of requests that may be left out.
package optional

import "cmp"

// Or returns the requested value, or the first default that is set.
func Or[T comparable](asked *T, defaults ...T) T {
	if asked != nil {
		return *asked
	}
	return cmp.Or(defaults...)
}
