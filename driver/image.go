package driver

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
)

// imageField is the field of the executor's errors about an image.
const imageField = "rootfs.image"

func forbiddenImages() error {
	return yurt.FieldErrorf(yurt.CodeForbidden, "image", "container images are not offered on this node; give template, whose root file system is the node's, or ask the operator to set images in the driver's plugin block")
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

// checkImages refuses settings of images without an effect.
func (c *Config) checkImages() error {
	if c.Images {
		return nil
	}
	for name, set := range map[string]bool{"image_registries": c.ImageRegistries != nil, "image_layouts": c.ImageLayouts != nil, "image_auth": c.ImageAuth != ""} {
		if set {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, name, "it says which images tasks may have, and they may have none; set images, or leave this out")
		}
	}
	return nil
}

// pull has the executor pull the image of a plan, if it has one, and completes the plan with the image's configuration.
func (d *Driver) pull(ctx context.Context, n *node, config *drivers.TaskConfig, p *plan) error {
	if p.image == nil {
		return nil
	}
	var image yurt.ImageInfo
	err := n.call(ctx, func(c *api.Client) (err error) {
		image, err = c.PrepareImage(ctx, p.image.Image, func(text string) error {
			d.events.say(config, strings.TrimSpace(text))
			return nil
		})
		return err
	})
	if err != nil {
		return ofTask(err)
	}
	return p.complete(image, config.GetUser())
}

// ofTask has an error be about the task's own setting, and not that of a template.
func ofTask(err error) error {
	coded := new(yurt.Error)
	if !errors.As(err, &coded) || coded.Field != imageField {
		return err
	}
	renamed := *coded
	renamed.Field = "image"
	return &renamed
}

// complete takes fields that the task leaves empty from the image, as Docker does.
func (p *plan) complete(image yurt.ImageInfo, user string) error {
	// A tag can move; this task keeps the image of this moment.
	p.sandbox.Template.RootFS = yurt.RootFS{Image: image.Reference}
	e := &p.execution
	if user == "" {
		e.User = image.RunAs
		p.settle(image)
	}
	if e.Kind == yurt.KindCommand {
		if e.Command = inTaskDir(p.image.argv(image)); len(e.Command) == 0 {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "command", "the image says nothing of what to run; give command")
		}
		if e.Cwd == "" && image.WorkingDir != "" {
			e.Cwd = path.Join("/", image.WorkingDir)
		}
	}
	return e.Validate()
}

// settle gives the task the name and the home that the image's accounts have for its user,
// unless the job or the image itself says otherwise.
func (p *plan) settle(image yurt.ImageInfo) {
	env := maps.Clone(p.sandbox.Env)
	for name, value := range map[string]string{"USER": image.Name, "HOME": image.Home} {
		_, job := env[name]
		_, template := p.sandbox.Template.Env[name]
		_, own := image.Env[name]
		if value != "" && !job && !template && !own {
			env[name] = value
		}
	}
	p.sandbox.Env = env
}

// argv is the entry point (the task's, otherwise the image's), and then the task's command. Where the task has neither, it is
// followed by the image's own command.
func (c *TaskConfig) argv(image yurt.ImageInfo) []string {
	said := c.Args
	if c.Command != "" {
		said = append([]string{c.Command}, c.Args...)
	}
	switch {
	case len(c.Entrypoint) > 0:
		return slices.Concat(c.Entrypoint, said)
	case len(said) > 0:
		return slices.Concat(image.Entrypoint, said)
	default:
		return slices.Concat(image.Entrypoint, image.Command)
	}
}
