// Package templatecmd has the commands of "yurt template": they check template files, push them to a server, and list and
// remove its templates. Each command is a file.
package templatecmd

import "github.com/yurtrun/yurt/cmd/yurt/internal/cli"

// app has the streams and flags that all commands share.
type app struct{ *cli.App }
