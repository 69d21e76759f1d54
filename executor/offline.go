package executor

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/runlog"
)

// offlineEnv is the environment of sandboxes without a network: package managers try once what
// cannot succeed, and not for a minute or more.
func offlineEnv() map[string]string {
	return map[string]string{"PIP_RETRIES": "0", "NPM_CONFIG_FETCH_RETRIES": "0", "CARGO_NET_RETRY": "0"}
}

// offline reports whether the sandbox has no network.
func (s *sandbox) offline() bool {
	return s.record.Spec.Host == nil && s.record.Spec.Template.Network.Mode == yurt.NetworkNone
}

// withOffline puts the environment of sandboxes without a network, if this is one, below env.
func (s *sandbox) withOffline(env map[string]string) map[string]string {
	if !s.offline() {
		return env
	}
	merged := offlineEnv()
	maps.Copy(merged, env)
	return merged
}

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
func (r *run) hintInstaller(result *yurt.Result) {
	if r.record.Installer == "" || r.sandbox.record.Installs || r.sandbox.installable && isServed(r.record.Installer) || r.record.unlimited() || result.ExitCode == 0 || result.ExitCode == yurt.ExecutionExitTimeout || result.Truncated.Stderr || !r.sandbox.offline() {
		return
	}
	hint := "yurt: this session has no network, so " + r.record.Installer + " can install nothing in it; " +
		"name the packages in \"dependencies\" of the execution (--dep on the command line) or of the template\n"
	if r.sandbox.record.Spec.Template.Network.Packages == yurt.PackagesNone {
		hint = "yurt: the template of this session lets its sessions install no packages; name them in \"dependencies\" of the template\n"
	}
	if result.Stderr != "" && !strings.HasSuffix(result.Stderr, "\n") {
		hint = "\n" + hint
	}
	if r.log.Append(runlog.Entry{Kind: runlog.Stderr, At: time.Now(), Data: []byte(hint)}) == nil {
		result.Stderr += hint
		result.Metrics.StderrBytes += int64(len(hint))
	}
}
