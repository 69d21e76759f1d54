// Command yurt-launcher starts sandboxes for the executor, which starts it; it is
// not run by hand.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/yurtrun/yurt/executor/libcontainer"
)

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
