// Command yurt-runtime-r is the language runtime for R: a plugin that a
// Yurt node starts from its plugin directory. See package plugins for the protocol.
package main

import (
	"fmt"
	"os"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/r"
)

func main() {
	if err := plugins.Serve(r.Runtime{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
