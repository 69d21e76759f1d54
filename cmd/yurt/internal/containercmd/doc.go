// Package containercmd has the commands of "yurt container": they show the sandboxes under the sessions of a server, whether each of
// them works, and prints its log.
package containercmd

import "github.com/yurtrun/yurt/cmd/yurt/internal/cli"

// app has the streams and flags that all commands share.
type app struct{ *cli.App }
