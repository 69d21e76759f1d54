// Command yurt-runtime-csharp is the language runtime for C#: a plugin that a
// Yurt node starts from its plugin directory. See package plugins for the protocol.
package main

import (
	"fmt"
	"os"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/csharp"
)

func main() {
	if err := plugins.Serve(csharp.Runtime{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
