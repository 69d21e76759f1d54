package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
)

const (
	typeHCL  = "application/hcl"
	typeText = "text/plain"
	// hclName is what errors in an HCL body call it.
	hclName = "template.hcl"
)

// templateSource is a body that holds a template, in JSON or in HCL.
type templateSource struct {
	data []byte
	json bool
}

// Resolve implements huma.Resolver.
func (s *templateSource) Resolve(ctx huma.Context) []error {
	header := ctx.Header("Content-Type")
	s.json = header == "" || checkType(header, []string{typeJSON}) == nil
	data, err := readBody(ctx, typeJSON, typeHCL, typeText)
	s.data = data
	return asDetails(err)
}

type (
	createTemplateInput struct {
		Accept string `header:"Accept" hidden:"true"`
		templateSource
	}
	templateInput struct {
		ID string `path:"id" doc:"Name of the template." example:"python-basic"`
	}
	templateOutput      struct{ Body yurt.Template }
	listTemplatesOutput struct{ Body templateList }
	templateList        struct {
		Templates []yurt.Template `json:"templates"`
	}
	listRuntimesOutput struct{ Body runtimeList }
	runtimeList        struct {
		Runtimes []yurt.RuntimeInfo `json:"runtimes"`
	}
)

func (a *API) registerTemplates() {
	register(a, huma.Operation{
		OperationID: "list-templates", Method: http.MethodGet, Path: "/templates",
		Summary: "List templates", Tags: []string{tagTemplates},
	}, a.listTemplates)
	register(a, huma.Operation{
		OperationID: "get-template", Method: http.MethodGet, Path: "/templates/{id}",
		Summary: "Show a template", Tags: []string{tagTemplates},
	}, a.getTemplate)
	register(a, huma.Operation{
		OperationID: "create-template", Method: http.MethodPost, Path: "/templates", DefaultStatus: http.StatusCreated,
		Summary: "Create a template", Tags: []string{tagTemplates},
		Description: "From JSON, or from HCL (application/hcl or text/plain) that holds one template block. " +
			"One with `dependencies` is there when these are installed, which takes as long as it takes: `Accept: text/event-stream` shows how it goes.",
		Responses: map[string]*huma.Response{
			"201": {Description: "The template.", Content: map[string]*huma.MediaType{typeJSON: {Schema: schemaOf[yurt.Template](a, "Template")}}},
			"200": {Description: "With `Accept: text/event-stream`: how it goes.", Content: map[string]*huma.MediaType{typeEventStream: {Schema: eventSchema(schemaOf[templateEvent](a, "TemplateEvent"))}}},
		},
	}, a.createTemplate)
	a.documentBody(a.registered(http.MethodPost, "/templates"), map[string]*huma.MediaType{
		typeJSON: {Schema: sourceSchema(a.huma.OpenAPI().Components.Schemas, schemaOf[yurt.Template](a, "Template"))},
		typeHCL:  {Schema: &huma.Schema{Type: huma.TypeString}},
		typeText: {Schema: &huma.Schema{Type: huma.TypeString}},
	})
	register(a, huma.Operation{
		OperationID: "list-runtimes", Method: http.MethodGet, Path: "/runtimes",
		Summary: "List the installed language runtimes", Tags: []string{tagTemplates},
	}, a.listRuntimes)
}

func (a *API) listTemplates(ctx context.Context, _ *struct{}) (*listTemplatesOutput, error) {
	list, err := a.ctl.Templates(ctx)
	return &listTemplatesOutput{Body: templateList{Templates: orEmpty(list)}}, err
}

func (a *API) getTemplate(ctx context.Context, in *templateInput) (*templateOutput, error) {
	t, err := a.ctl.Template(ctx, in.ID)
	return &templateOutput{Body: t}, err
}

// templateEvent tells how the making of a template goes.
type templateEvent struct {
	Seq      uint64         `json:"seq" doc:"Counts from 1; the id of the event."`
	Type     string         `json:"type" enum:"progress,created,failed"`
	Data     string         `json:"data,omitempty" doc:"Of progress: what a package manager prints."`
	Template *yurt.Template `json:"template,omitempty" doc:"Of created."`
	Problem  *problem       `json:"problem,omitempty" doc:"Of failed."`
}

func (a *API) createTemplate(ctx context.Context, in *createTemplateInput) (*huma.StreamResponse, error) {
	parsed, err := a.parseTemplate(in.templateSource)
	if err != nil {
		return nil, err
	}
	if in.Accept != "" && checkType(in.Accept, []string{typeEventStream}) == nil {
		return a.streamTemplate(parsed), nil
	}
	t, err := a.ctl.CreateTemplate(ctx, parsed, func(string) error { return nil })
	if err != nil {
		return nil, err
	}
	return respond(http.StatusCreated, t, "Location", prefix+"/templates/"+t.Name), nil
}

// streamTemplate makes a template, and answers with how that goes.
func (a *API) streamTemplate(parsed yurt.Template) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		a.stream(ctx, "ask for the template again", func(making context.Context, stream *eventStream) error {
			seq := uint64(0)
			send := func(event templateEvent) error {
				seq++
				event.Seq = seq
				return stream.send(seq, event.Type, event)
			}
			t, err := a.ctl.CreateTemplate(making, parsed, func(text string) error {
				if text == "" {
					return nil
				}
				return send(templateEvent{Type: "progress", Data: text})
			})
			if err != nil {
				return send(templateEvent{Type: "failed", Problem: a.problemOf(making, err)})
			}
			return send(templateEvent{Type: "created", Template: &t})
		})
	}}
}

func (a *API) parseTemplate(source templateSource) (yurt.Template, error) {
	if source.json {
		if a.config.ParseTemplateJSON == nil {
			return yurt.Template{}, yurt.FieldErrorf(yurt.CodeNotSupported, "Content-Type", "this server takes no templates in JSON")
		}
		return a.config.ParseTemplateJSON(source.data)
	}
	if a.config.ParseTemplateHCL == nil {
		return yurt.Template{}, yurt.FieldErrorf(yurt.CodeNotSupported, "Content-Type", "this server takes no templates in HCL")
	}
	list, err := a.config.ParseTemplateHCL(hclName, source.data)
	if err != nil {
		return yurt.Template{}, err
	}
	if len(list) != 1 {
		return yurt.Template{}, yurt.Errorf(yurt.CodeTemplateInvalid, "the source defines %d templates; send one at a time", len(list))
	}
	return list[0], nil
}

func (a *API) listRuntimes(ctx context.Context, _ *struct{}) (*listRuntimesOutput, error) {
	list, err := a.ctl.Runtimes(ctx)
	return &listRuntimesOutput{Body: runtimeList{Runtimes: orEmpty(list)}}, err
}
