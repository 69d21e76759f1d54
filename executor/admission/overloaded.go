package admission

import (
	"time"

	"github.com/yurtrun/yurt"
)

// Overloaded refuses what the node has too many of already.
func Overloaded(retry time.Duration, format string, args ...any) error {
	err := yurt.Errorf(yurt.CodeOverloaded, format, args...)
	err.RetryAfter = retry
	return err
}
