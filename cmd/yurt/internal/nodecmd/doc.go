// Package nodecmd has the commands of "yurt node" and "yurt pool": they list nodes and warm pools of a server, drain nodes and
// change the sizes of pools.
package nodecmd

import "github.com/yurtrun/yurt/cmd/yurt/internal/cli"

// app has the streams and flags that all commands share.
type app struct{ *cli.App }
