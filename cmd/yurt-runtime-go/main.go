// Command yurt-runtime-go is the language runtime for Go: a plugin that a
// Yurt node starts from its plugin directory. See package plugins for the protocol.
package main

import (
	"fmt"
	"os"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/golang"
)

func main() {
	if err := plugins.Serve(golang.Runtime{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
