package main

import (
	"context"
	"errors"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// conditions writes a file and a template under conditions that hold, and under conditions that do not.
func conditions(ctx context.Context, p *play, s *step) (any, error) {
	var with struct {
		Path     string `json:"path"`
		Template string `json:"template"`
	}
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	files, absent := p.named[s.In].Files, yurt.Condition{NoneMatch: []string{"*"}}
	first, firstErr := files.WriteIf(ctx, with.Path, []byte("one"), absent)
	there, statErr := files.Stat(ctx, with.Path)
	read := yurt.Condition{Match: []string{first.ETag}}
	second, secondErr := files.WriteIf(ctx, with.Path, []byte("other"), read)
	_, stale := files.WriteIf(ctx, with.Path, []byte("lost"), read)
	_, taken := files.WriteIf(ctx, with.Path, []byte("lost"), absent)
	text, readErr := files.ReadText(ctx, with.Path)
	staleTemplate, description, templateErr := templateConditions(ctx, p.client, with.Template, absent)
	return object{
		"same": there.ETag == first.ETag, "replaced": second.Size, "stale": yurt.CodeOf(stale), "taken": yurt.CodeOf(taken), "text": text,
		"stale_template": staleTemplate, "description": description,
	}, errors.Join(firstErr, statErr, secondErr, readErr, templateErr)
}

// templateConditions returns the code of the error of a template that was read before another change, and the description that is left.
func templateConditions(ctx context.Context, client *yurtclient.Client, name string, absent yurt.Condition) (stale yurt.Code, description string, err error) {
	source := func(description string) []byte {
		return []byte("template \"" + name + "\" {\n  extends = \"default\"\n  description = \"" + description + "\"\n}\n")
	}
	_, firstErr := yurtclient.ReplaceTemplateIf(ctx, client, name, source("first"), absent)
	_, etag, readErr := yurtclient.TaggedTemplate(ctx, client, name)
	read := yurt.Condition{Match: []string{etag}}
	_, secondErr := yurtclient.ReplaceTemplateIf(ctx, client, name, source("second"), read)
	_, refused := yurtclient.ReplaceTemplateIf(ctx, client, name, source("lost"), read)
	left, leftErr := client.Template(ctx, name)
	return yurt.CodeOf(refused), left.Description, errors.Join(firstErr, readErr, secondErr, leftErr, client.DeleteTemplate(ctx, name))
}
