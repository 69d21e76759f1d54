package taskspec

import (
	"maps"
	"path"
	"slices"

	"github.com/yurtrun/yurt"
)

// Image is the reference of the task's image; "" for a task without one.
func (p *Spec) Image() string {
	if p.image == nil {
		return ""
	}
	return p.image.Image
}

// Complete takes fields that the task leaves empty from the image, as Docker does.
func (p *Spec) Complete(image yurt.ImageInfo, user string) error {
	// A tag can move; this task keeps the image of this moment.
	p.Sandbox.Template.RootFS = yurt.RootFS{Image: image.Reference}
	e := &p.Execution
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
func (p *Spec) settle(image yurt.ImageInfo) {
	env := maps.Clone(p.Sandbox.Env)
	for name, value := range map[string]string{"USER": image.Name, "HOME": image.Home} {
		_, job := env[name]
		_, template := p.Sandbox.Template.Env[name]
		_, own := image.Env[name]
		if value != "" && !job && !template && !own {
			env[name] = value
		}
	}
	p.Sandbox.Env = env
}

// argv is the entry point (the task's, otherwise the image's), and then the task's command. Where the task has neither, it is
// followed by the image's own command.
func (c *Config) argv(image yurt.ImageInfo) []string {
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
