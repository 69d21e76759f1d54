package hcl

import (
	"fmt"

	"github.com/agext/levenshtein"
)

// didYouMean returns " Did you mean …?" with the name nearest to given, or nothing
// when none is near.
func didYouMean(given string, names []string) string {
	if name := nearest(given, names); name != "" {
		return fmt.Sprintf(" Did you mean %q?", name)
	}
	return ""
}

// nearest returns the first of names with the fewest edits from given, if those are
// few for its length.
func nearest(given string, names []string) string {
	if len(given) > maxSummaryRunes {
		return "" // the distance takes quadratic time
	}
	best, fewest := "", max(1, min(len(given)/2, 3))+1
	for _, name := range names {
		if d := levenshtein.Distance(given, name, nil); d < fewest {
			best, fewest = name, d
		}
	}
	return best
}
