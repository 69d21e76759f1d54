// Package suggest finds the name that a caller meant by one that does not exist, for error
// messages that ask "did you mean …?". It knows no kind of name, and never changes its input.
package suggest

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// maxGiven is how long a name may be, in bytes: the distance of two names takes quadratic time.
const maxGiven = 200

// Nearest returns the name that takes the fewest edits to get to from given, or "" when no name is near: a short name may be off
// by one character, and a long one by three.
func Nearest(given string, names []string) string {
	if len(given) > maxGiven {
		return ""
	}
	given = strings.ToLower(given)
	best, fewest := "", max(1, min(len(given)/2, 3))+1
	for _, name := range names {
		if d := levenshtein.Distance(given, strings.ToLower(name), nil); d < fewest {
			best, fewest = name, d
		}
	}
	return best
}

// Question returns the end of an error about a name, "; did you mean …?" with the nearest of the names, or "" when no name is near.
func Question(given string, names []string) string {
	if name := Nearest(given, names); name != "" {
		return fmt.Sprintf("; did you mean %q?", name)
	}
	return ""
}
