package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi/internal/bounds"
	"github.com/yurtrun/yurt/controller/httpapi/internal/conditional"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
	"github.com/yurtrun/yurt/controller/once"
)

const (
	typeHCL  = "application/hcl"
	typeText = "text/plain"
	// hclName is the file name in errors about an HCL body.
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
	replaceTemplateInput struct {
		ID        string `path:"id" doc:"Name of the template." example:"python-large"`
		Accept    string `header:"Accept" hidden:"true"`
		Match     string `header:"If-Match" maxLength:"4096" doc:"ETags, or * for any. The template is replaced only if it has one of them; otherwise the answer is 412 with the present ETag."`
		NoneMatch string `header:"If-None-Match" maxLength:"4096" doc:"With * the template is created only if its name is free."`
		templateSource
	}
	pushInput struct {
		Accept string `header:"Accept" hidden:"true"`
		jsonBody[pushBody]
	}
	// pushBody is the body of POST /templates/batch.
	pushBody struct {
		Templates param.JSON        `json:"templates" doc:"The templates, in the form that POST /templates takes one."`
		Extends   map[string]string `json:"extends,omitempty" doc:"The base of each template, by name. The base cannot be deleted while the template exists."`
		Replace   bool              `json:"replace,omitempty" doc:"Replace existing templates of the same names. Without it, they make the request fail."`
	}
	templateInput struct {
		ID string `path:"id" doc:"Name of the template." example:"python-basic"`
	}
	getTemplateInput struct {
		ID  string `path:"id" doc:"Name of the template." example:"python-basic"`
		Has string `header:"If-None-Match" maxLength:"4096" doc:"ETags. A template with one of them is not sent."`
	}
	prepareInput struct {
		ID     string `path:"id" doc:"Name of the template." example:"python-basic"`
		Accept string `header:"Accept" hidden:"true"`
	}
	preparedNodes struct {
		Nodes []string `json:"nodes" doc:"The nodes that have the template's image and packages, sorted by name."`
	}
	listTemplatesInput struct {
		paging.WholeParams
		NamePrefix string `query:"name_prefix" maxLength:"64" pattern:"^[A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, dashes and underscores" doc:"Only templates whose name begins with this text."`
		Runtime    string `query:"runtime" maxLength:"64" doc:"Only templates that have this language runtime." example:"python"`
	}
	listTemplatesOutput struct{ Body templateList }
	templateList        struct {
		Templates  []yurt.Template `json:"templates" doc:"Sorted by name."`
		NextCursor string          `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
	// pushedTemplates is the answer to POST /templates/batch.
	pushedTemplates struct {
		Templates []yurt.Template `json:"templates"`
	}
	listRuntimesInput struct {
		paging.WholeParams
		Language string `query:"language" maxLength:"64" doc:"Only runtimes of this language, by its name or an alias." example:"py"`
	}
	listRuntimesOutput struct{ Body runtimeList }
	runtimeList        struct {
		Runtimes   []yurt.RuntimeInfo `json:"runtimes" doc:"Sorted by name and version."`
		NextCursor string             `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
)

const (
	templatePath = "/templates/{id}"
	// howTemplates ends the description of an operation that makes templates.
	howTemplates = " A template with `dependencies` exists once they are installed, which can take minutes: `Accept: text/event-stream` shows the progress."
)

func (a *API) registerTemplates() {
	register(a, huma.Operation{
		OperationID: "list-templates", Method: http.MethodGet, Path: "/templates",
		Summary: "List templates", Tags: []string{TagTemplates},
	}, a.listTemplates)
	register(a, huma.Operation{
		OperationID: "get-template", Method: http.MethodGet, Path: templatePath,
		Summary: "Show a template", Tags: []string{TagTemplates},
		Responses: map[string]*huma.Response{
			"200": {Description: "The template.", Content: map[string]*huma.MediaType{typeJSON: {Schema: schemaOf[yurt.Template](a, "Template")}}, Headers: conditional.Headers()},
			"304": conditional.NotModifiedResponse(),
		},
	}, a.getTemplate)
	register(a, huma.Operation{
		OperationID: "create-template", Method: http.MethodPost, Path: "/templates", DefaultStatus: http.StatusCreated,
		Summary: "Create a template", Tags: []string{TagTemplates},
		Description: "The body is JSON, or HCL (application/hcl or text/plain) with one template block." + howTemplates,
		Responses:   a.templateResponses("201", "The template.", schemaOf[yurt.Template](a, "Template")),
	}, a.createTemplate)
	register(a, huma.Operation{
		OperationID: "replace-template", Method: http.MethodPut, Path: templatePath,
		Summary: "Replace a template, or create it", Tags: []string{TagTemplates},
		Description: "The body is the same as for creating the template, with the same name. Existing sessions keep their version of the template. The warm pool is refilled. Templates that extend this one do not change." + howTemplates,
		Responses:   replaceResponses(a),
	}, a.replaceTemplate)
	register(a, huma.Operation{
		OperationID: "delete-template", Method: http.MethodDelete, Path: templatePath, DefaultStatus: http.StatusNoContent,
		Summary: "Delete a template", Tags: []string{TagTemplates},
		Description: "Existing sessions keep their version of the template. Its warm pool is emptied. The request is refused for a built-in template, and for a template that others extend; the error names them.",
	}, a.deleteTemplate)
	register(a, huma.Operation{
		OperationID: "push-templates", Method: http.MethodPost, Path: "/templates/batch",
		Summary: "Create several templates at once", Tags: []string{TagTemplates},
		Description: "Creates all of the templates, or fails and creates not one." + howTemplates,
		Responses:   a.templateResponses("200", "The templates, or with `Accept: text/event-stream` the progress.", schemaOf[pushedTemplates](a, "Templates")),
	}, a.pushTemplates)
	register(a, huma.Operation{
		OperationID: "prepare-template", Method: http.MethodPost, Path: templatePath + "/prepare",
		Summary: "Install the packages of a template", Tags: []string{TagTemplates},
		Description: "Pulls the template's image and installs its `dependencies` on each node that can run the template. Without this call, a node does it for its first session of the template. `Accept: text/event-stream` shows the progress. If a node fails, the others continue, and the error names the node.",
		Responses:   a.templateResponses("200", "The nodes, or with `Accept: text/event-stream` the progress.", schemaOf[preparedNodes](a, "PreparedNodes")),
	}, a.prepareTemplate)
	a.documentTemplateBodies()
	register(a, huma.Operation{
		OperationID: "list-runtimes", Method: http.MethodGet, Path: "/runtimes",
		Summary: "List the installed language runtimes", Tags: []string{TagTemplates},
	}, a.listRuntimes)
}

// templateResponses describes the answers of an operation that makes templates: its own, and the
// events.
func (a *API) templateResponses(status, description string, schema *huma.Schema) map[string]*huma.Response {
	own := &huma.Response{Description: description, Content: map[string]*huma.MediaType{typeJSON: {Schema: schema}}}
	all := map[string]*huma.Response{status: own}
	if all["200"] == nil {
		all["200"] = &huma.Response{Description: "With `Accept: text/event-stream`: the progress.", Content: map[string]*huma.MediaType{}}
	}
	all["200"].Content[typeEventStream] = &huma.MediaType{Schema: eventSchema(schemaOf[templateEvent](a, "TemplateEvent"))}
	return all
}

func replaceResponses(a *API) map[string]*huma.Response {
	all := a.templateResponses("200", "The template, or with `Accept: text/event-stream` the progress.", schemaOf[yurt.Template](a, "Template"))
	all["200"].Headers = conditional.Headers()
	all["412"] = preconditionFailed(a)
	return all
}

func (a *API) documentTemplateBodies() {
	source := func() *huma.Schema {
		schemas := a.huma.OpenAPI().Components.Schemas
		source := param.SourceSchema(schemas, schemaOf[yurt.Template](a, "Template"))
		bounds.Narrow(schemas, source, templateBounds())
		return source
	}
	for _, op := range []*huma.Operation{a.registered(http.MethodPost, "/templates"), a.registered(http.MethodPut, templatePath)} {
		a.documentBody(op, map[string]*huma.MediaType{
			typeJSON: {Schema: source()},
			typeHCL:  {Schema: &huma.Schema{Type: huma.TypeString, Pattern: notBlank}},
			typeText: {Schema: &huma.Schema{Type: huma.TypeString, Pattern: notBlank}},
		})
	}
	body := schemaOf[pushBody](a, "PushTemplates")
	limit := maxPushed
	least := 1
	a.huma.OpenAPI().Components.Schemas.SchemaFromRef(body.Ref).Properties["templates"] = &huma.Schema{
		Type: huma.TypeArray, Items: source(), MinItems: &least, MaxItems: &limit,
	}
	a.documentBody(a.registered(http.MethodPost, "/templates/batch"), map[string]*huma.MediaType{typeJSON: {Schema: body}})
}

func (a *API) listTemplates(ctx context.Context, in *listTemplatesInput) (*listTemplatesOutput, error) {
	list, err := a.ctl.Templates(ctx)
	if err != nil {
		return nil, err
	}
	drop := func(t yurt.Template) bool {
		return !strings.HasPrefix(t.Name, in.NamePrefix) || in.Runtime != "" && !slices.Contains(t.Runtimes, in.Runtime)
	}
	page, next, err := paging.Cut(in.WholeParams, list, drop, func(t yurt.Template) contract.Position { return paging.Named(t.Name) })
	return &listTemplatesOutput{Body: templateList{Templates: page, NextCursor: next}}, err
}

func (a *API) getTemplate(ctx context.Context, in *getTemplateInput) (*huma.StreamResponse, error) {
	t, err := a.ctl.Template(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		if !conditional.NotModified(ctx, in.Has, t.ETag()) {
			respond(http.StatusOK, t).Body(ctx)
		}
	}}, nil
}

// templateEvent tells how the making of a template goes.
type templateEvent struct {
	Seq      uint64         `json:"seq" doc:"Number of the event, from 1; also the event's id."`
	Type     string         `json:"type" enum:"progress,created,prepared,failed"`
	Data     string         `json:"data,omitempty" doc:"Of the event progress: output of a package manager."`
	Template *yurt.Template `json:"template,omitempty" doc:"Of the event created: the template."`
	Nodes    []string       `json:"nodes,omitempty" doc:"Of the event prepared: the nodes that have the template's image and packages."`
	Problem  *problem       `json:"problem,omitempty" doc:"Of the event failed: the error."`
}

func (a *API) createTemplate(ctx context.Context, in *createTemplateInput) (*huma.StreamResponse, error) {
	parsed, err := a.parseTemplate(ctx, in.templateSource)
	if err != nil {
		return nil, err
	}
	return a.followTemplate(ctx, in.Accept, &templateEvent{Type: "created", Template: &parsed}, func(ctx context.Context, tell func(string) error) (*huma.StreamResponse, error) {
		t, err := a.ctl.CreateTemplate(ctx, parsed, tell)
		return respond(http.StatusCreated, t, "Location", prefix+"/templates/"+t.Name), err
	})
}

func (a *API) replaceTemplate(ctx context.Context, in *replaceTemplateInput) (*huma.StreamResponse, error) {
	condition, err := conditional.Condition(in.Match, in.NoneMatch)
	if err != nil {
		return nil, err
	}
	parsed, err := a.parseTemplate(ctx, in.templateSource)
	if err != nil {
		return nil, err
	}
	return a.followTemplate(ctx, in.Accept, &templateEvent{Type: "created", Template: &parsed}, func(ctx context.Context, tell func(string) error) (*huma.StreamResponse, error) {
		t, err := a.ctl.ReplaceTemplate(ctx, in.ID, parsed, condition, tell)
		return respond(http.StatusOK, t, "ETag", t.ETag()), err
	})
}

func (a *API) deleteTemplate(ctx context.Context, in *templateInput) (*struct{}, error) {
	return nil, a.ctl.DeleteTemplate(ctx, in.ID)
}

// maxPushed is how many templates may come at once: as many as HCL files may define together.
const maxPushed = 256

func (a *API) pushTemplates(ctx context.Context, in *pushInput) (*huma.StreamResponse, error) {
	var sources []json.RawMessage
	if err := json.Unmarshal(in.value.Templates, &sources); err != nil || len(sources) == 0 || len(sources) > maxPushed {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "templates", "the value must be an array of 1 to %d templates", maxPushed)
	}
	templates := make([]yurt.Template, len(sources))
	named := map[string]bool{}
	for i, source := range sources {
		var err error
		if templates[i], err = a.parseTemplate(ctx, templateSource{data: source, json: true}); err != nil {
			return nil, fmt.Errorf("template %d: %w", i+1, err)
		}
		templates[i].Extends = in.value.Extends[templates[i].Name]
		named[templates[i].Name] = true
	}
	for name := range in.value.Extends {
		if !named[name] {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "extends", "%.80q is not among the templates", name)
		}
	}
	return a.followTemplate(ctx, in.Accept, &templateEvent{Type: "created", Template: &templates[0]}, func(ctx context.Context, tell func(string) error) (*huma.StreamResponse, error) {
		err := a.ctl.PushTemplates(ctx, templates, in.value.Replace, tell)
		return respond(http.StatusOK, pushedTemplates{templates}), err
	})
}

func (a *API) prepareTemplate(ctx context.Context, in *prepareInput) (*huma.StreamResponse, error) {
	last := &templateEvent{Type: "prepared"}
	return a.followTemplate(ctx, in.Accept, last, func(ctx context.Context, tell func(string) error) (*huma.StreamResponse, error) {
		nodes, err := a.ctl.PrepareTemplate(ctx, in.ID, tell)
		last.Nodes = nodes
		return respond(http.StatusOK, preparedNodes{paging.OrEmpty(nodes)}), err
	})
}

// followTemplate answers with the response of create, or, if the caller accepts events, with the progress of
// create and the last event.
func (a *API) followTemplate(ctx context.Context, accept string, last *templateEvent,
	create func(context.Context, func(string) error) (*huma.StreamResponse, error),
) (*huma.StreamResponse, error) {
	if !wantsEvents(accept) {
		response, err := create(ctx, func(string) error { return nil })
		if err != nil {
			return nil, err
		}
		return response, nil
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		again := "ask for the template again"
		a.stream(ctx, advice{drain: again, broken: again}, func(making context.Context, stream *eventStream) error {
			seq := uint64(0)
			send := func(event templateEvent) error {
				seq++
				event.Seq = seq
				return stream.send(seq, event.Type, event)
			}
			_, err := create(making, func(text string) error {
				if text == "" {
					return nil
				}
				return send(templateEvent{Type: "progress", Data: text})
			})
			if err != nil {
				once.Refused(making) // there is no template, also when the client left during the installation
				return send(templateEvent{Type: "failed", Problem: a.problemOf(making, err)})
			}
			return send(*last)
		})
	}}, nil
}

func (a *API) parseTemplate(ctx context.Context, source templateSource) (yurt.Template, error) {
	if source.json {
		if a.config.ParseTemplateJSON == nil {
			return yurt.Template{}, yurt.FieldErrorf(yurt.CodeNotSupported, "Content-Type", "this server takes no templates in JSON")
		}
		return a.config.ParseTemplateJSON(source.data)
	}
	if a.config.ParseTemplateHCL == nil {
		return yurt.Template{}, yurt.FieldErrorf(yurt.CodeNotSupported, "Content-Type", "this server takes no templates in HCL")
	}
	list, err := a.config.ParseTemplateHCL(ctx, hclName, source.data)
	if err != nil {
		return yurt.Template{}, err
	}
	if len(list) != 1 {
		return yurt.Template{}, yurt.Errorf(yurt.CodeTemplateInvalid, "the source defines %d templates; send one at a time, or all of them in JSON to /templates/batch", len(list))
	}
	return list[0], nil
}

func (a *API) listRuntimes(ctx context.Context, in *listRuntimesInput) (*listRuntimesOutput, error) {
	list, err := a.ctl.Runtimes(ctx)
	if err != nil {
		return nil, err
	}
	drop := func(r yurt.RuntimeInfo) bool { return in.Language != "" && !slices.Contains(r.Languages, in.Language) }
	page, next, err := paging.Cut(in.WholeParams, list, drop, func(r yurt.RuntimeInfo) contract.Position { return paging.Named(r.Name + "\x00" + r.Version) })
	return &listRuntimesOutput{Body: runtimeList{Runtimes: page, NextCursor: next}}, err
}
