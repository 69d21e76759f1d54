package hcl

import (
	"maps"

	"github.com/zclconf/go-cty/cty"

	"github.com/yurtrun/yurt"
)

// block lists the attributes and blocks that a kind of block may hold.
type block struct {
	attributes map[string]attribute
	blocks     map[string]*block
	later      map[string]string // planned settings that this version lacks: name → description
}

// attribute says how the value of an attribute goes into a template.
type attribute struct {
	field string // path in the template's JSON form
	set   func(t *yurt.Template, v cty.Value) error
}

// scalar makes an attribute that sets one field of a template.
func scalar[T any](field string, read func(cty.Value) (T, error), at func(*yurt.Template) *T) attribute {
	return attribute{field: field, set: func(t *yurt.Template, v cty.Value) error {
		x, err := read(v)
		if err == nil {
			*at(t) = x
		}
		return err
	}}
}

// templateSchema is the one table of the settings in a template block. The attribute `extends` has
// no setter: it is read before the others.
func templateSchema() *block {
	return &block{
		attributes: map[string]attribute{
			extendsName:   {},
			"description": scalar("description", toText, func(t *yurt.Template) *string { return &t.Description }),
			"runtimes":    scalar("runtimes", toTexts, func(t *yurt.Template) *[]string { return &t.Runtimes }),
			"env":         {field: "env", set: setEnv},

			"dependencies": {field: "dependencies", set: setDependencies},
			"kernels":      {field: "kernels", set: setKernels},
			"preload":      scalar("preload", toTexts, func(t *yurt.Template) *[]string { return &t.Preload }),
		},
		blocks: map[string]*block{
			"rootfs":    rootfsSchema(),
			"resources": resourcesSchema(),
			"isolation": isolationSchema(),
			"network":   networkSchema(),
			"session":   sessionSchema(),
			"warm_pool": warmPoolSchema(),
		},
		later: laterInTemplate(),
	}
}

const extendsName = "extends"

func rootfsSchema() *block {
	return &block{
		attributes: map[string]attribute{"image": {field: "rootfs.image", set: setImage}},
		blocks: map[string]*block{"host": {
			attributes: map[string]attribute{
				"paths": scalar("rootfs.host_paths", toPaths, func(t *yurt.Template) *[]string { return &t.RootFS.HostPaths }),
			},
		}},
		later: laterInRootFS(),
	}
}

// setImage has the image replace the host paths of the extended template. Attributes are read
// before blocks: paths in the same template are a fault that remains.
func setImage(t *yurt.Template, v cty.Value) error {
	image, err := toText(v)
	if err == nil {
		t.RootFS = yurt.RootFS{Image: image}
	}
	return err
}

func resourcesSchema() *block {
	return &block{
		attributes: map[string]attribute{
			"cpu":    scalar("resources.cpu", toCores, func(t *yurt.Template) *float64 { return &t.Resources.CPU }),
			"memory": scalar("resources.memory", toSize, func(t *yurt.Template) *yurt.Size { return &t.Resources.Memory }),
			"disk":   scalar("resources.disk", toSize, func(t *yurt.Template) *yurt.Size { return &t.Resources.Disk }),
			"pids":   scalar("resources.pids", toCount, func(t *yurt.Template) *int { return &t.Resources.PIDs }),

			"disk_kind": scalar("resources.disk_kind", toWord[yurt.DiskKind], func(t *yurt.Template) *yurt.DiskKind { return &t.Resources.DiskKind }),
			"io_weight": scalar("resources.io_weight", toCount, func(t *yurt.Template) *int { return &t.Resources.IOWeight }),
		},
		blocks: map[string]*block{"ulimits": {
			attributes: map[string]attribute{
				"nofile": scalar("resources.ulimits.nofile", toCount, func(t *yurt.Template) *int { return &t.Resources.Ulimits.NoFile }),
				"fsize":  scalar("resources.ulimits.fsize", toSize, func(t *yurt.Template) *yurt.Size { return &t.Resources.Ulimits.FSize }),
				"stack":  scalar("resources.ulimits.stack", toSize, func(t *yurt.Template) *yurt.Size { return &t.Resources.Ulimits.Stack }),
			},
		}},
		later: map[string]string{
			"swap": "swap limits", "io": "limits of the bandwidth of disks",
			"gpu": "devices", "devices": "devices", "device": "devices",
		},
	}
}

func isolationSchema() *block {
	return &block{
		attributes: map[string]attribute{
			"level": scalar("isolation.level", toWord[yurt.IsolationLevel], func(t *yurt.Template) *yurt.IsolationLevel { return &t.Isolation.Level }),

			"per_execution": scalar("isolation.per_execution", toBool, func(t *yurt.Template) *bool { return &t.Isolation.PerExecution }),
			"system_calls":  scalar("isolation.system_calls", toTexts, func(t *yurt.Template) *[]string { return &t.Isolation.SystemCalls }),
		},
		later: map[string]string{
			"strict": "gVisor", "gvisor": "gVisor",
			"seccomp": "seccomp profiles of a template's own", "apparmor": "AppArmor profiles of a template's own",
		},
	}
}

func networkSchema() *block {
	return &block{
		attributes: map[string]attribute{
			"mode":     scalar("network.mode", toWord[yurt.NetworkMode], func(t *yurt.Template) *yurt.NetworkMode { return &t.Network.Mode }),
			"packages": scalar("network.packages", toWord[yurt.PackagesMode], func(t *yurt.Template) *yurt.PackagesMode { return &t.Network.Packages }),
		},
		later: map[string]string{
			"egress": "network access through a proxy", "allow": "network access through a proxy", "proxy": "network access through a proxy",
			"hosts": "network access through a proxy", "credentials": "network access through a proxy", "bridge": "bridged networks",
			"dns": "name resolution", "ports": "ports",
		},
	}
}

func sessionSchema() *block {
	return &block{
		attributes: map[string]attribute{
			"timeout":           scalar("session.timeout", toDuration, func(t *yurt.Template) *yurt.Duration { return &t.Session.Timeout }),
			"idle_timeout":      scalar("session.idle_timeout", toDuration, func(t *yurt.Template) *yurt.Duration { return &t.Session.IdleTimeout }),
			"execution_timeout": scalar("session.execution_timeout", toDuration, func(t *yurt.Template) *yurt.Duration { return &t.Session.ExecutionTimeout }),
			"output_limit":      scalar("session.output_limit", toSize, func(t *yurt.Template) *yurt.Size { return &t.Session.OutputLimit }),
		},
		later: map[string]string{"mode": "a default session mode", "max": "limits on the number of sessions"},
	}
}

func warmPoolSchema() *block {
	return &block{
		attributes: map[string]attribute{
			"min":          scalar("warm_pool.min", toCount, func(t *yurt.Template) *int { return &t.WarmPool.Min }),
			"max":          scalar("warm_pool.max", toCount, func(t *yurt.Template) *int { return &t.WarmPool.Max }),
			"idle_timeout": scalar("warm_pool.idle_timeout", toDuration, func(t *yurt.Template) *yurt.Duration { return &t.WarmPool.IdleTimeout }),
			"interpreter":  scalar("warm_pool.interpreter", toBool, func(t *yurt.Template) *bool { return &t.WarmPool.Interpreter }),
		},
	}
}

func laterInTemplate() map[string]string {
	return map[string]string{
		"build": "build steps", "packages": "packages of the system", "package": "packages of the system",
		"mounts": "mounts", "mount": "mounts", "volume": "mounts", "volumes": "mounts",
		"mcp": "the MCP proxy", "dynamic": "dynamic blocks",
		"for_each": "templates in series", "count": "templates in series",
		"ready_command": "start and ready commands", "start_command": "start and ready commands",
		"ready": "start and ready commands", "start": "start and ready commands",
	}
}

func laterInRootFS() map[string]string {
	return map[string]string{
		"directory": "root file systems from a directory", "dir": "root file systems from a directory",
		"tarball": "root file systems from a tarball", "tar": "root file systems from a tarball",
	}
}

// names lists the names that may be written in a block of this kind.
func (b *block) names() []string {
	return append(keysOf(b.attributes), keysOf(b.blocks)...)
}

// homes maps every name below b to the block that it belongs to, for authors that write it in
// another.
func (b *block) homes(title string) map[string]string {
	found := map[string]string{}
	for name, child := range b.blocks {
		maps.Copy(found, child.homes(name))
	}
	for _, name := range b.names() {
		found[name] = title
	}
	return found
}
