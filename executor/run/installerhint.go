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
var installers = regexp.MustCompile(`(?:^|[\s;&|(!%])(pip3?|python3? -m pip|uv pip|uv|npm|npx|yarn|pnpm|cargo|go|gem|mvn)\s+` +
	`(?:install|i|ci|add|get|download|update|fetch|vendor|exec|mod (?:download|tidy)|\S*dependency:\S+)\b`)

// cellCommands are the lines of a cell in Python that run a command. packageError is the line by which pip and npm say that
// they failed, for the cell itself succeeds then.
var (
	cellCommands = regexp.MustCompile(`(?m)^\s*[!%].*$`)
	packageError = regexp.MustCompile(`(?mi)^(?:npm )?(?:error|err!)[: ]`)
)

// installerOf names the package manager that the command, the script, or a command in a cell asks for packages; "" without one.
func installerOf(spec yurt.ExecutionSpec) string {
	text := strings.Join(spec.Command, " ")
	switch {
	case spec.Kind == yurt.KindCode && spec.Language == "bash":
		text = spec.Code
	case spec.Kind == yurt.KindCode && strings.HasPrefix(spec.Language, "py"):
		text = strings.Join(cellCommands.FindAllString(spec.Code, -1), "\n")
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

// installationFailed reports whether the result is that of a package manager which failed.
func installationFailed(result *yurt.Result) bool {
	switch result.ExitCode {
	case 0: // of a cell, too
		return packageError.MatchString(result.Stderr) || packageError.MatchString(result.Stdout)
	case yurt.ExecutionExitTimeout:
		return false
	default:
		return true
	}
}

// hintInstaller adds advice to standard error where a package manager failed for want of a network:
// the fields that name packages.
func (r *Run) hintInstaller(result *yurt.Result) {
	if r.Record.Installer == "" || r.Sandbox.Record.Installs || r.Sandbox.Installable && isServed(r.Record.Installer) || r.Record.Unlimited() || !r.Sandbox.Offline() {
		return
	}
	if result.Truncated.Stderr || !installationFailed(result) {
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
