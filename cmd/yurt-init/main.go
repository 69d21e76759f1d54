// Command yurt-init is the first process of every sandbox. The executor starts
// it; it is not run by hand.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/yurtrun/yurt/executor/initd/pid1"
)

func main() {
	if err := pid1.Run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "yurt-init:", err)
		os.Exit(1)
	}
}
