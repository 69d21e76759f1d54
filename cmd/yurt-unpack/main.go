// Command yurt-unpack unpacks the layers of an image for the executor, which starts it without power over the host; it is
// not run by hand.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/executor/images"
)

func main() {
	if err := images.Unpack(context.Background(), os.Stdin, os.Stdout, confine.Dir); err != nil {
		fmt.Fprintln(os.Stderr, "yurt-unpack:", err)
		os.Exit(1)
	}
}
