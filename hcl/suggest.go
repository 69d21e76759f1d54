package hcl

import (
	"fmt"

	"github.com/yurtrun/yurt/internal/suggest"
)

// didYouMean returns " Did you mean …?" with the name nearest to given, or "" when no name is near.
func didYouMean(given string, names []string) string {
	if name := suggest.Nearest(given, names); name != "" {
		return fmt.Sprintf(" Did you mean %q?", name)
	}
	return ""
}
