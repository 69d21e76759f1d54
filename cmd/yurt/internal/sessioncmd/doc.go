// Package sessioncmd has the commands of "yurt session": they create sessions on a server, run commands and code in them,
// copy files, and end them. Each command is a file.
package sessioncmd

import "github.com/yurtrun/yurt/cmd/yurt/internal/cli"

// app has the streams and flags that all commands share.
type app struct{ *cli.App }
