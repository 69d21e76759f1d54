// Command yurt-runtime-rust is the language runtime for Rust: a plugin that a
// Yurt node starts from its plugin directory. See package plugins for the protocol.
package main

import (
	"fmt"
	"os"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/rust"
)

func main() {
	if err := plugins.Serve(rust.Runtime{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
