package admission

import (
	"time"

	"github.com/yurtrun/yurt"
)

// Overloaded refuses a request because the node is at one of its bounds.
func Overloaded(retry time.Duration, format string, args ...any) error {
	err := yurt.Errorf(yurt.CodeOverloaded, format, args...)
	err.RetryAfter = retry
	return err
}
