//go:build linux && cgo && seccomp

package libcontainer

import (
	"os"

	"github.com/opencontainers/runc/libcontainer"
	_ "github.com/opencontainers/runc/libcontainer/nsenter" // runs before main, in C
)

// InitIfReexeced carries on with making a sandbox, and does not return, when
// libcontainer has started this program again for that. main calls it first.
func InitIfReexeced() {
	if len(os.Args) > 1 && os.Args[1] == "init" {
		libcontainer.Init()
	}
}
