package run

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/output"
	"github.com/yurtrun/yurt/executor/runlog"
)

// installers are the commands that ask a registry for packages, as the user types them.
var installers = regexp.MustCompile(`(?:^|[\s;&|(!])(pip3?|python3? -m pip|uv pip|uv|npm|npx|yarn|pnpm|cargo|go|gem|mvn)\s+` +
	`(?:install|i|ci|add|get|download|update|fetch|vendor|exec|mod (?:download|tidy)|\S*dependency:\S+)\b`)

// installerOf names the package manager that the command, or the script, asks for packages; "" for none.
func installerOf(spec yurt.ExecutionSpec) string {
	text := strings.Join(spec.Command, " ")
	if spec.Kind == yurt.KindCode && spec.Language == "bash" {
		text = spec.Code
	}
	match := installers.FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	return match[1]
}

// isServed reports whether the node installs for the package manager where sessions may install.
func isServed(installer string) bool {
	return slices.Contains([]string{"pip", "pip3", "python -m pip", "python3 -m pip", "uv", "uv pip", "npm"}, installer)
}

// hintInstaller adds to standard error, where a package manager failed for want of a network, what to
// do instead.
func (r *Run) hintInstaller(result *yurt.Result) {
	if r.Record.Installer == "" || r.Sandbox.Record.Installs || r.Sandbox.Installable && isServed(r.Record.Installer) || r.Record.Unlimited() || result.ExitCode == 0 || result.ExitCode == yurt.ExecutionExitTimeout || result.Truncated.Stderr || !r.Sandbox.Offline() {
		return
	}
	hint := "yurt: this session has no network, so " + r.Record.Installer + " can install nothing in it; " +
		"name the packages in \"dependencies\" of the execution (--dep on the command line) or of the template\n"
	if r.Sandbox.Record.Spec.Template.Network.Packages == yurt.PackagesNone {
		hint = "yurt: the template of this session lets its sessions install no packages; name them in \"dependencies\" of the template\n"
	}
	if last := output.Last(context.Background(), result, yurt.EventStderr, 1); last != "" && last != "\n" {
		hint = "\n" + hint
	}
	if r.Log.Append(runlog.Entry{Kind: runlog.Stderr, At: time.Now(), Data: []byte(hint)}) == nil {
		if result.Output != nil {
			result.Output.Stderr += int64(len(hint))
		} else {
			result.Stderr += hint
		}
		result.Metrics.StderrBytes += int64(len(hint))
	}
}
