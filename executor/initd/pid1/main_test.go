package pid1

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// playEnv makes the test binary play yurt-init.
const playEnv = "YURT_TEST_INIT"

func TestMain(m *testing.M) {
	if os.Getenv(playEnv) != "" {
		fmt.Fprintln(os.Stderr, "yurt-init:", playInit())
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// playInit is yurt-init but for its namespaces: orphans come to it all the same.
func playInit() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	// libcontainer closes descriptors that the host did not mean to pass in the same way.
	if err := unix.CloseRange(32, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	return Run(context.Background(), os.Args[1:])
}
