package pid1

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limit is one of setrlimit(2) that user code gets and init has not.
type limit struct {
	resource int
	value    unix.Rlimit
}

// parseLimit reads "RESOURCE=VALUE", both numbers. The value is the soft and the hard one.
func parseLimit(text string) (limit, error) {
	name, number, _ := strings.Cut(text, "=")
	resource, err := strconv.Atoi(name)
	if err != nil {
		return limit{}, fmt.Errorf("reading the limit %q: %w", text, err)
	}
	value, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return limit{}, fmt.Errorf("reading the limit %q: %w", text, err)
	}
	return limit{resource, unix.Rlimit{Cur: value, Max: value}}, nil
}
