// Command yurt-runtime-bash is the language runtime for Bash, a plugin of Yurt.
package main

import (
	"fmt"
	"os"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/bash"
)

func main() {
	if err := plugins.Serve(bash.Runtime{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
