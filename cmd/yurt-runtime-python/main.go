// Command yurt-runtime-python is the language runtime for Python: a plugin that a
// Yurt node starts from its plugin directory. See package plugins for the protocol.
package main

import (
	"fmt"
	"os"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/python"
)

func main() {
	if err := plugins.Serve(python.Runtime{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
