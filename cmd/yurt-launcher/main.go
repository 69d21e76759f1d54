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

// The main thread stays with the main goroutine: a goroutine that starts a sandbox enters the sandbox's cgroups, and leaves them by
// the end of its thread, which the main thread never has. Go promises the main goroutine that thread in init alone.
func init() { runtime.LockOSThread() } //nolint:gochecknoinits // as above

func main() {
	libcontainer.InitIfReexeced()
	initBin := flag.String("init", "", "path of yurt-init")
	transient := flag.Bool("transient", false, "end the sandboxes with the executor")
	flag.Parse()
	if err := libcontainer.Serve(*initBin, *transient); err != nil {
		fmt.Fprintln(os.Stderr, "yurt-launcher:", err)
		os.Exit(1)
	}
}
