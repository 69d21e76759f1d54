// Command yurt-runtime-javascript is the language runtime for JavaScript, a plugin of Yurt.
package main

import (
	"fmt"
	"os"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/javascript"
)

func main() {
	if err := plugins.Serve(javascript.Runtime{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
