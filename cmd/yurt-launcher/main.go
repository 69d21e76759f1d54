// Command yurt-launcher starts sandboxes for the executor, which starts it; it is
// not run by hand.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"

	"github.com/yurtrun/yurt/executor/libcontainer"
)

func main() {
	// The main thread stays with this goroutine: one that starts a sandbox enters the
	// sandbox's cgroups, and leaves them by ending, which the main thread never does.
	runtime.LockOSThread()
	libcontainer.InitIfReexeced()
	initBin := flag.String("init", "", "path of yurt-init")
	transient := flag.Bool("transient", false, "end the sandboxes with the executor")
	flag.Parse()
	if err := libcontainer.Serve(*initBin, *transient); err != nil {
		fmt.Fprintln(os.Stderr, "yurt-launcher:", err)
		os.Exit(1)
	}
}
