// Package pluginconfig is the operator's plugin block of the driver: its schema, its checks, and the command of the executor that
// follows from it.
package pluginconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/plugins/shared/hclspec"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/schema"
)

// Config is the operator's plugin block.
type Config struct {
	// StateDir is the executor's state directory.
	StateDir string `json:"state_dir"`
	// Executor is the program yurt, with yurt-init, yurt-launcher and plugins beside it.
	Executor string `json:"executor"`
	// NodeName is the executor's name for this node; that of Nomad's client.
	NodeName string `json:"node_name"`
	// Settings are more flags of yurt executor, without the dashes: max-sandboxes and so on.
	Settings map[string]string `json:"settings"`
	// TemplateDir has template files, which jobs may name beside those that ship.
	TemplateDir string `json:"template_dir"`
	// HostMounts are paths of the node that jobs may mount, with all below them. Volumes of
	// Nomad's own need no entry.
	HostMounts []string `json:"host_mounts"`
	// HostNetwork allows tasks the network of the node.
	HostNetwork bool `json:"host_network"`
	// Images allows tasks container images.
	Images bool `json:"images"`
	// ImageRegistries are the registries that they may come from; nil means any.
	ImageRegistries []string `json:"image_registries"`
	// ImageLayouts are directories of the node that they may come from.
	ImageLayouts []string `json:"image_layouts"`
	// ImageAuth is a file with the credentials for registries.
	ImageAuth string `json:"image_auth"`
	// NomadAddress is the URL of a Nomad agent that knows the logs blocks of jobs; "" for no agent. NomadTokenFile holds a token
	// that may read jobs, and NomadCAFile the authority of the agent's certificate.
	NomadAddress   string `json:"nomad_address"`
	NomadTokenFile string `json:"nomad_token_file"`
	NomadCAFile    string `json:"nomad_ca_file"`
	// Isolation is the level that every task must have; "" for any.
	Isolation string `json:"isolation"`
	// Slots allows jobs to open slots, which a controller of Yurt claims.
	Slots *bool `json:"slots"`
}

// AllowsSlots reports whether jobs may open slots.
func (c *Config) AllowsSlots() bool { return c.Slots == nil || *c.Slots }

// Schema is that of [Config].
func Schema() *hclspec.Spec {
	block := schema.Object(map[string]string{
		"state_dir": "string", "executor": "string", "node_name": "string",
		"template_dir": "string", "host_mounts": "list(string)", "host_network": "bool", "images": "bool",
		"image_registries": "list(string)", "image_layouts": "list(string)", "image_auth": "string",
		"isolation": "string", "slots": "bool",
		"nomad_address": "string", "nomad_token_file": "string", "nomad_ca_file": "string",
	})
	// In an agent's configuration this is a block in any form.
	block.GetObject().Attributes["settings"] = hclspec.NewBlockAttrs("settings", "string", false)
	return block
}

const (
	// DefaultStateDir is the state directory of an operator that names no other.
	DefaultStateDir = "/var/lib/yurt"
	executorName    = "yurt"
)

// Read reads and checks the operator's configuration.
func Read(data []byte) (Config, error) {
	var c Config
	if err := schema.Decode(data, &c); err != nil {
		return Config{}, err
	}
	if c.StateDir == "" {
		c.StateDir = DefaultStateDir
	}
	for _, f := range []struct{ field, value string }{{"state_dir", c.StateDir}, {"executor", c.Executor}, {"template_dir", c.TemplateDir}, {"nomad_token_file", c.NomadTokenFile}, {"nomad_ca_file", c.NomadCAFile}} {
		if f.value != "" && !filepath.IsAbs(f.value) {
			return Config{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, f.field, "%q is not an absolute path", f.value)
		}
	}
	for _, path := range c.HostMounts {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return Config{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "host_mounts", "%q is not an absolute and clean path", path)
		}
	}
	if c.Isolation != "" && c.Isolation != string(yurt.IsolationNamespaces) {
		return Config{}, yurt.FieldErrorf(yurt.CodeNotSupported, "isolation", "%q is not a level that this version knows; it knows %q", c.Isolation, yurt.IsolationNamespaces)
	}
	if err := c.checkImages(); err != nil {
		return Config{}, err
	}
	if err := c.checkNomad(); err != nil {
		return Config{}, err
	}
	return c, c.checkSettings()
}

// ownSettings are flags of the executor that have a place of their own in the configuration.
func ownSettings() []string {
	return []string{"state-dir", "listen", "node", "image-registries", "image-layouts", "image-auth"}
}

func (c *Config) checkSettings() error {
	for name := range c.Settings {
		if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "= ") {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "settings", "%q is no flag of yurt executor; give its name without dashes, such as max-sandboxes", name)
		}
		if slices.Contains(ownSettings(), name) {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "settings", "%q is set by state_dir, node_name and images with what belongs to it; give those instead", name)
		}
	}
	return nil
}

// executorPath is where the program yurt is: beside this one, unless the operator says.
func (c *Config) executorPath() (string, error) {
	path := c.Executor
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return "", yurt.Errorf(yurt.CodeInternal, "finding the program yurt: %w", err)
		}
		if self, err = filepath.EvalSymlinks(self); err != nil {
			return "", yurt.Errorf(yurt.CodeInternal, "finding the program yurt: %w", err)
		}
		path = filepath.Join(filepath.Dir(self), executorName)
		if _, err := os.Stat(path); err != nil { // plugin_dir may be below it
			path = filepath.Join(filepath.Dir(filepath.Dir(self)), executorName)
		}
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", yurt.FieldErrorf(yurt.CodeUnavailable, "executor", "the program yurt is not at %s; put it beside the driver or say where it is", path)
	}
	return path, nil
}

// Socket is the executor's Unix socket.
func (c *Config) Socket() string { return filepath.Join(c.StateDir, "executor.sock") }

// LogPath is the file that the executor logs to.
func (c *Config) LogPath() string { return filepath.Join(c.StateDir, "executor.log") }
