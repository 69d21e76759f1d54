package pid1

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limit is one of setrlimit(2), of all processes or of user code alone.
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

// setLimits sets limits of this process, which all others inherit. They can only be lowered.
func setLimits(list []limit) error {
	for _, l := range list {
		if err := unix.Setrlimit(l.resource, &l.value); err != nil {
			return fmt.Errorf("setting limit %d to %d: %w", l.resource, l.value.Max, err)
		}
	}
	return nil
}

// timerSlack is how late the timers of a process may be unless it asks for something
// else, in nanoseconds: the kernel's own default.
const timerSlack = 50_000

// tightenTimers has the calling thread's children have timers as they are anywhere. Init
// itself was started with more slack, to take less of the processor.
func tightenTimers() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0); err != nil {
		return fmt.Errorf("setting the slack of timers: %w", err)
	}
	return nil
}
