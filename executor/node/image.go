package node

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// PrepareImage pulls the image, asking anew what its reference means, and returns what it
// is. It tells how that goes.
func (n *Node) PrepareImage(ctx context.Context, reference string, tell func(string) error) (yurt.ImageInfo, error) {
	user := "preparing " + yurt.NewSandboxID()
	image, err := n.images.Get(ctx, reference, user, true, func(text string) error { return tell(text + "\n") })
	if err != nil {
		return yurt.ImageInfo{}, err
	}
	defer n.images.Release(user)
	return image.Describe()
}

// imageOf returns the image that is the root of the template's sandboxes, nil if it is none,
// and keeps it until letGo is called. It is pulled if it is not there, before the sandbox
// takes anybody's turn.
func (n *Node) imageOf(ctx context.Context, template yurt.Template, phases *sandbox.Phases) (image *images.Image, letGo func(), err error) {
	letGo = func() {}
	if template.RootFS.Image == "" {
		return nil, letGo, nil
	}
	if len(template.RootFS.HostPaths) > 0 {
		return nil, letGo, yurt.FieldErrorf(yurt.CodeTemplateInvalid, "rootfs.image", "a root file system is an image or paths of the host; leave one of them out")
	}
	user := "making " + yurt.NewSandboxID()
	image, err = n.images.Get(ctx, template.RootFS.Image, user, false, func(string) error { return nil })
	phases.Mark("image")
	return image, func() { n.images.Release(user) }, err
}

// giveImage keeps the image for a sandbox that is made.
func (n *Node) giveImage(s *Handle, image *images.Image, undo *rollback) (err error) {
	if image == nil {
		return nil
	}
	s.Record.Image = image.Key // somebody holds it
	s.Image, err = n.images.Use(image.Key, s.ID())
	undo.add(func() error { n.images.Release(s.ID()); return nil })
	return err
}

// adoptImage keeps the image of a sandbox that is taken over.
func (n *Node) adoptImage(s *Handle) (err error) {
	if s.Record.Image == "" {
		return nil
	}
	s.Image, err = n.images.Use(s.Record.Image, s.ID())
	if err == nil && s.Image == nil {
		n.logger.Warn("the image of a sandbox is gone, and its files with it", "sandbox", s.ID(), "image", s.Record.Spec.Template.RootFS.Image)
	}
	return err
}
