package node

import (
	"context"
	"errors"

	"github.com/yurtrun/yurt"
)

// maxAhead bounds of how many templates it is remembered which layers they have.
const maxAhead = 256

// PrepareTemplate pulls the image of the template, asking anew what it means, and installs
// its packages, so that its sandboxes have them from the beginning. It tells how the pull
// goes and what the package managers print. A package that cannot be
// installed is an error of the template.
func (n *Node) PrepareTemplate(ctx context.Context, template yurt.Template, tell func(string) error) error {
	if image := template.RootFS.Image; image != "" {
		if _, err := n.PrepareImage(ctx, image, tell); err != nil {
			return err
		}
	}
	if len(template.Dependencies) == 0 {
		return nil
	}
	// Where the tools are, and which, is seen in a sandbox alone.
	view, err := n.make(ctx, installSpec(template), purpose{installs: true})
	if err != nil {
		return err
	}
	defer func() {
		if err := n.DestroySandbox(context.WithoutCancel(ctx), view.ID); err != nil && n.ctx.Err() == nil {
			n.logger.Error("removing the sandbox in which a template was prepared", "sandbox", view.ID, "error", err)
		}
	}()
	s, err := n.Find(ctx, view.ID)
	if err != nil {
		return err
	}
	needs, err := n.layersOf(ctx, s.Base(), template)
	if err != nil {
		return err
	}
	if err := n.installAll(ctx, s, needs, tell); err != nil {
		if code := yurt.CodeOf(err); code != yurt.CodeInternal || ctx.Err() != nil || n.ctx.Err() != nil {
			return err
		}
		return yurt.FieldErrorf(yurt.CodeTemplateInvalid, "dependencies", "%w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ahead) >= maxAhead {
		clear(n.ahead) // what is needed is found again
	}
	n.ahead[template.Digest()] = needs
	return nil
}

// installAhead installs the packages of a template, unless they are there.
func (n *Node) installAhead(ctx context.Context, template yurt.Template) error {
	if len(template.Dependencies) == 0 {
		return nil
	}
	n.mu.Lock()
	needs := n.ahead[template.Digest()]
	n.mu.Unlock()
	if len(needs) > 0 {
		user := "looking " + yurt.NewSandboxID()
		missing, err := n.missingLayers(needs, user)
		n.layers.Release(user)
		if err != nil || len(missing) == 0 {
			return err
		}
	}
	return n.PrepareTemplate(ctx, template, func(string) error { return nil })
}

// furnish gives a new sandbox, which nobody knows, the layers of its template that are
// there. Executions get those that are not, or are told why they cannot.
func (n *Node) furnish(ctx context.Context, s *Handle) {
	needs, err := n.templateLayers(ctx, s.Base())
	for _, l := range needs {
		there, useErr := n.layers.Use(l.Digest, s.ID())
		if useErr != nil || !there {
			err = errors.Join(err, useErr)
			continue
		}
		s.Record.Layers = append(s.Record.Layers, l.Digest) // written with the rest of the record
		err = errors.Join(err, s.MountLayer(n.layers, l))
	}
	if err != nil {
		n.logger.Warn("a sandbox begins without packages of its template", "sandbox", s.ID(), "template", s.Template, "error", err)
	}
}
