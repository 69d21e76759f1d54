package driver

import (
	"context"
	"errors"
	"strings"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/node"
	"github.com/yurtrun/yurt/driver/internal/taskspec"
	"github.com/yurtrun/yurt/executor/api"
)

// pull has the executor pull the image of a task, if it has one, and completes the specification with the image's configuration.
func (d *Driver) pull(ctx context.Context, n *node.Executor, config *drivers.TaskConfig, spec *taskspec.Spec) error {
	if spec.Image() == "" {
		return nil
	}
	var image yurt.ImageInfo
	err := n.Call(ctx, func(c *api.Client) (err error) {
		image, err = c.PrepareImage(ctx, spec.Image(), func(text string) error {
			d.events.say(config, strings.TrimSpace(text))
			return nil
		})
		return err
	})
	if err != nil {
		return ofTask(err)
	}
	return spec.Complete(image, config.GetUser())
}

// ofTask has an error be about the task's own setting, and not that of a template.
func ofTask(err error) error {
	coded := new(yurt.Error)
	if !errors.As(err, &coded) || coded.Field != node.ImageField {
		return err
	}
	renamed := *coded
	renamed.Field = "image"
	return &renamed
}
