// Command yurt-runtime-python is the language runtime for Python: a plugin that a
// Yurt node starts from its plugin directory. See package plugins for the protocol.
package main

import (
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/python"
)

func main() {
	plugins.Serve(python.Runtime{})
}
