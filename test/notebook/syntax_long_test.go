//go:build long

package notebook

import (
	"strings"
	"testing"
)

// TestEveryMagicIsInterrupted: so are all magics that wait for a command or for code.
func TestEveryMagicIsInterrupted(t *testing.T) {
	interruptMagics(t,
		"!sleep 1000", "x = !sleep 1000 | cat", "!!sleep 1000", "!trap '' INT; sleep 1000; sleep 1000", "%%bash\nsleep 1000", "%%bash --out got\nsleep 1000 & sleep 1000 & wait",
		"%sx sleep 1000", "%%capture kept\n!sleep 1000", "%%time\n!sleep 1000", "%time time.sleep(1000)", "%timeit -n 1000000000 1", "%%timeit\n!sleep 1000",
		"%%python\nimport time\ntime.sleep(1000)", "%run -m http.server 0", "!mkfifo never\n%pip download -r never", "get_ipython().system('sleep 1000')",
		"%time await asyncio.sleep(1000)", "await asyncio.sleep(0)\n%time await asyncio.sleep(1000)", "%%writefile /dev/stdout\nx\n"+strings.Repeat("x", 10)+"\n!sleep 1", "%prun time.sleep(1000)",
	)
}
