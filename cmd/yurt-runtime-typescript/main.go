// Command yurt-runtime-typescript is the language runtime for TypeScript, a plugin of Yurt.
package main

import (
	"fmt"
	"os"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/typescript"
)

func main() {
	if err := plugins.Serve(typescript.Runtime{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
