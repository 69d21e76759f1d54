package taskspec

import (
	"path"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
	"github.com/yurtrun/yurt/driver/internal/schema"
)

// read reads and checks the config block of a task.
func read(data []byte, operator pluginconfig.Config) (Config, error) {
	var c Config
	if err := schema.Decode(data, &c); err != nil {
		return Config{}, err
	}
	for _, check := range []func() error{c.checkLater, c.checkWhat, c.checkSlot, c.checkPatterns} {
		if err := check(); err != nil {
			return Config{}, err
		}
	}
	if c.Slot != nil && !operator.AllowsSlots() {
		return Config{}, yurt.FieldErrorf(yurt.CodeForbidden, "slot", "the operator of this node has switched slots off")
	}
	if c.Network == networkHost && !operator.HostNetwork {
		return Config{}, forbiddenNetwork()
	}
	if c.Image != "" && !operator.Images {
		return Config{}, forbiddenImages()
	}
	return c, nil
}

// Network modes of a task.
const (
	networkNone  = "none"  // a loopback interface of its own
	networkHost  = "host"  // that of the node
	networkGroup = "group" // that which Nomad made for the task's group, as in bridge mode
)

func forbiddenNetwork() error {
	return yurt.FieldErrorf(yurt.CodeForbidden, "network", "%q is not offered on this node; take %q, or a group network in bridge mode, or ask the operator to set host_network in the driver's plugin block", networkHost, networkNone)
}

// checkLater refuses settings that are known and not supported yet.
func (c *Config) checkLater() error {
	if c.Isolation != "" && c.Isolation != string(yurt.IsolationNamespaces) {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "isolation", "%q is not a level that this version knows; it knows %q", c.Isolation, yurt.IsolationNamespaces)
	}
	if c.Seccomp != "" && c.Seccomp != "default" {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "seccomp", "%q is not a profile that this version knows; it knows %q", c.Seccomp, "default")
	}
	switch c.Network {
	case "", networkNone, networkHost, networkGroup:
		return nil
	default:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "network", "%q is not a network; give %q, %q or %q", c.Network, networkNone, networkHost, networkGroup)
	}
}

// checkWhat refuses a task that names no command, or two.
func (c *Config) checkWhat() error {
	command := c.Command != "" || len(c.Entrypoint) > 0
	switch {
	case c.Slot != nil:
		return nil
	case command && c.Code != "":
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "code", "a task runs either code or a command; leave one of them out")
	case !command && c.Code == "" && c.Image == "":
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "command", "there is nothing to run; give command, or code and language")
	case c.Code != "" && c.Language == "":
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "language", "code needs its language, such as \"python\"")
	case command && c.Language != "":
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "language", "it is of code, and the task runs a command; leave it out")
	}
	return nil
}

// checkSlot refuses settings without a use for a slot: its session decides which commands run in it.
func (c *Config) checkSlot() error {
	if c.Slot == nil {
		return nil
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"command", c.Command != ""},
		{"args", len(c.Args) > 0},
		{"entrypoint", len(c.Entrypoint) > 0},
		{"code", c.Code != ""},
		{"language", c.Language != ""},
		{"image", c.Image != ""},
		{"cwd", c.Cwd != ""},
		{"network", c.Network != ""},
		{"hostname", c.Hostname != ""},
		{"mounts", len(c.Mounts) > 0},
		{"env_passthrough", c.EnvPassthrough != nil},
		{"logs", c.Logs != nil},
	} {
		if f.set {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, f.name, "a slot is room for a session, which says what runs in it; leave this out, or slot")
		}
	}
	if c.Slot.ID != "" && !yurt.ValidSlotID(c.Slot.ID) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "slot.id", "%q is not the id of a slot; give lower-case letters, digits, dashes and underscores", c.Slot.ID)
	}
	if (c.Template == "") == (c.Slot.TemplateJSON == "") {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "slot.template_json", "give either this or template, for a slot is of one template")
	}
	return nil
}

func (c *Config) checkPatterns() error {
	for _, pattern := range c.EnvPassthrough {
		if _, err := path.Match(pattern, ""); err != nil {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "env_passthrough", "%q is not a pattern; give names, in which * stands for anything", pattern)
		}
	}
	return nil
}

// environment is the part of the task's variables that reaches the sandbox.
func (c *Config) environment(env map[string]string) map[string]string {
	kept := make(map[string]string, len(env))
	for name, value := range env {
		if c.passes(name) {
			kept[name] = value
		}
	}
	return kept
}

func (c *Config) passes(name string) bool {
	if c.EnvPassthrough == nil {
		return true
	}
	for _, pattern := range c.EnvPassthrough {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

// execution is the task's command, without the parts that come from Nomad.
func (c *Config) execution() yurt.ExecutionSpec {
	if c.Code != "" {
		return yurt.ExecutionSpec{Kind: yurt.KindCode, Language: c.Language, Code: c.Code, Args: c.Args, Cwd: c.Cwd}
	}
	argv := append([]string{}, c.Entrypoint...)
	if c.Command != "" {
		argv = append(argv, c.Command)
	}
	return yurt.ExecutionSpec{Kind: yurt.KindCommand, Command: inTaskDir(append(argv, c.Args...)), Cwd: c.Cwd}
}

// inTaskDir has the program be the one in the task's directory if its name leads to one of the
// directories there that a sandbox has, such as local/run.sh: with Nomad's exec driver it does.
func inTaskDir(argv []string) []string {
	if len(argv) == 0 || path.IsAbs(argv[0]) {
		return argv
	}
	first, _, below := strings.Cut(path.Clean(argv[0]), "/")
	if below && slices.Contains([]string{"alloc", "local", "secrets"}, first) {
		argv[0] = path.Join("/", argv[0])
	}
	return argv
}

// isName reports whether a template is given by name.
func isName(template string) bool { return !strings.ContainsAny(template, "{\n") }

func forbiddenImages() error {
	return yurt.FieldErrorf(yurt.CodeForbidden, "image", "container images are not offered on this node; give template, whose root file system is the node's, or ask the operator to set images in the driver's plugin block")
}
