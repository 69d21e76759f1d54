package main

import (
	"errors"
	"log/slog"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/mcp"
)

// mcpFlags are the settings of the MCP server.
type mcpFlags struct {
	tools            []string
	calls, sandboxes int
}

// noTools, in place of names of tools, serves no MCP.
const noTools = "none"

func (f *mcpFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.tools, "mcp-tools", nil, "the tools that MCP clients have, such as run_code,read_file; none serves no MCP (default: all)")
	flags.IntVar(&f.calls, "mcp-client-calls", 0, "how many calls of tools an MCP client may have under way; more are refused (default: any number)")
	flags.IntVar(&f.sandboxes, "mcp-client-sandboxes", 0, "how many sandboxes an MCP client may have at once (default: any number)")
	config.Reloadable(flags, "mcp-client-calls", "mcp-client-sandboxes")
}

// mcpSettings returns the functions that take over changed limits in a running server.
func mcpSettings(server *mcp.Server) map[string]func(text string) error {
	takes := func(put func(*mcp.Limits, int)) func(string) error {
		return func(text string) error {
			n, err := strconv.Atoi(text)
			if err == nil {
				server.Limit(func(l *mcp.Limits) { put(l, n) })
			}
			return err
		}
	}
	return map[string]func(string) error{
		"mcp_client_calls":     takes(func(l *mcp.Limits, n int) { l.Calls = n }),
		"mcp_client_sandboxes": takes(func(l *mcp.Limits, n int) { l.Sandboxes = n }),
	}
}

// off reports whether there is no MCP.
func (f *mcpFlags) off() bool { return len(f.tools) == 1 && f.tools[0] == noTools }

// sandboxes is the controller that an MCP server translates for.
type sandboxes interface {
	mcp.Sessions
	mcp.Executions
	mcp.Files
}

func (f *mcpFlags) config() mcp.Config {
	return mcp.Config{Tools: f.tools, Limits: mcp.Limits{Calls: f.calls, Sandboxes: f.sandboxes}, Version: version}
}

// check refuses values that cannot be, by the names of the flags.
func (f *mcpFlags) check() error {
	if f.off() {
		return nil
	}
	err := f.config().Check()
	var coded *yurt.Error
	if errors.As(err, &coded) {
		return yurt.FieldErrorf(coded.Code, "--"+coded.Field, "%s", coded.Message)
	}
	return err
}

// server makes the MCP server of a controller. With decide each call needs the scope of its tool.
func (f *mcpFlags) server(of sandboxes, logger *slog.Logger, log *audit.Log, decide bool) (*mcp.Server, error) {
	config := f.config()
	if decide {
		config.Decide = auth.NewPolicy().Decide
	}
	config.Audit = log
	config.Sessions, config.Executions, config.Files, config.Logger = of, of, of, logger
	return mcp.New(config)
}
