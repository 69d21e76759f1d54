package pluginconfig

import (
	"slices"
	"strings"
)

// ExecutorArgs is the command that starts the executor.
func (c *Config) ExecutorArgs() ([]string, error) {
	path, err := c.executorPath()
	if err != nil {
		return nil, err
	}
	argv := []string{path, "executor", "--state-dir=" + c.StateDir, "--listen=" + c.Socket()}
	if c.NodeName != "" {
		argv = append(argv, "--node="+c.NodeName)
	}
	more := c.imageArgs()
	for name, value := range c.Settings {
		more = append(more, "--"+name+"="+value)
	}
	slices.Sort(more)
	return append(argv, more...), nil
}

// imageArgs are the flags of the executor for the operator's settings of images.
func (c *Config) imageArgs() []string {
	if !c.Images {
		return nil
	}
	registries := "*"
	if c.ImageRegistries != nil {
		registries = strings.Join(c.ImageRegistries, ",")
	}
	args := []string{"--image-registries=" + registries}
	if len(c.ImageLayouts) > 0 {
		args = append(args, "--image-layouts="+strings.Join(c.ImageLayouts, ","))
	}
	if c.ImageAuth != "" {
		args = append(args, "--image-auth="+c.ImageAuth)
	}
	return args
}
