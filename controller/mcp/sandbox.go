package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
)

// endLimit bounds the end of a sandbox whose client is gone.
const endLimit = 30 * time.Second

const (
	defaultSandboxes = 50  // in a list
	maxSandboxes     = 500 // in a list
)

func createSandbox() tool {
	return tool{
		name: "create_sandbox", title: "Create a sandbox", kind: adds,
		description: "Makes a sandbox: an isolated Linux environment with files in /workspace, which lives until terminate_sandbox, its timeout or its idle_timeout. Returns its sandbox_id, which the other tools take.",
	}
}

func listSandboxes() tool {
	return tool{name: "list_sandboxes", title: "List sandboxes", kind: reads, description: "Lists the sandboxes that live, the newest first, or those in a given state."}
}

func terminateSandbox() tool {
	return tool{
		name: "terminate_sandbox", title: "Terminate a sandbox", kind: replaces,
		description: "Ends a sandbox: whatever runs in it, its files and its variables are gone.",
	}
}

func listTemplates() tool {
	return tool{name: "list_templates", title: "List templates", kind: reads, description: "Lists the templates that a sandbox can be made of: the languages, packages and limits of each template."}
}

type createInput struct {
	TemplateID  string            `json:"template_id,omitempty" jsonschema:"Name of the template, see list_templates. Default: default, which has every language of the host."`
	Timeout     *duration         `json:"timeout,omitempty" jsonschema:"Lifetime in seconds, or text such as 2h. Default: the template's."`
	IdleTimeout *duration         `json:"idle_timeout,omitempty" jsonschema:"Time without a call after which it ends, in seconds, or text such as 30m. Default: the template's."`
	Env         map[string]string `json:"env,omitempty" jsonschema:"Environment of everything that runs in it."`
	CPU         *float64          `json:"cpu,omitempty" jsonschema:"Cores."`
	Memory      *size             `json:"memory,omitempty" jsonschema:"Bytes, or text such as 512Mi."`
	Disk        *size             `json:"disk,omitempty" jsonschema:"Bytes of /workspace, or text such as 1Gi."`
	Metadata    map[string]string `json:"metadata,omitempty" jsonschema:"Entries to find it by."`
}

func (in createInput) request() controller.CreateSessionRequest {
	return controller.CreateSessionRequest{
		TemplateID: in.TemplateID, Timeout: in.Timeout.value(), IdleTimeout: in.IdleTimeout.value(), Env: in.Env, Metadata: in.Metadata,
		Resources: controller.ResourcesRequest{CPU: in.CPU, Memory: in.Memory.value(), Disk: in.Disk.value()},
	}
}

// sandboxOutput describes one sandbox.
type sandboxOutput struct {
	SandboxID  string            `json:"sandbox_id"`
	TemplateID string            `json:"template_id"`
	State      string            `json:"state" jsonschema:"creating, ready, running, paused, terminated or failed"`
	Reason     string            `json:"reason,omitempty" jsonschema:"Of the state."`
	Placement  string            `json:"placement,omitempty" jsonschema:"warm: it was ready; cold: it was made for this call."`
	CreatedAt  time.Time         `json:"created_at"`
	EndsAt     time.Time         `json:"ends_at" jsonschema:"When its lifetime is over."`
	Metadata   map[string]string `json:"metadata,omitempty"`
}

func newSandboxOutput(s yurt.Session) sandboxOutput {
	return sandboxOutput{
		SandboxID: s.ID, TemplateID: s.TemplateID, State: string(s.State), Reason: s.Reason, Placement: string(s.Placement.Kind),
		CreatedAt: s.CreatedAt, EndsAt: s.CreatedAt.Add(s.Timeout.Std()), Metadata: s.Metadata,
	}
}

func (s *Server) createSandbox(ctx context.Context, c call, in createInput) (sandboxOutput, []sdk.Content, error) {
	session, err := s.create(ctx, c, in.request())
	return newSandboxOutput(session), nil, err
}

// create makes a session for a client, within its limits.
func (s *Server) create(ctx context.Context, c call, req controller.CreateSessionRequest) (yurt.Session, error) {
	done, err := s.clients.reserve(ctx, s.config.Sessions, c.client)
	if err != nil {
		return yurt.Session{}, err
	}
	defer done()
	metadata := map[string]string{}
	for key, value := range req.Metadata {
		metadata[key] = value
	}
	metadata[metadataClient] = c.client
	req.Mode, req.Metadata = yurt.ModePersistent, metadata
	session, err := s.config.Sessions.CreateSession(ctx, req)
	if err == nil && ctx.Err() != nil { // the client does not learn its id
		s.end(ctx, session.ID)
		return yurt.Session{}, ctx.Err()
	}
	return session, err
}

// end ends a session whose id its client did not learn.
func (s *Server) end(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	if _, err := s.config.Sessions.EndSession(ctx, id); err != nil && yurt.CodeOf(err) != yurt.CodeSessionEnded {
		s.log.WarnContext(ctx, "a sandbox whose MCP client is gone was not ended; it ends when it is idle for too long", "session", id, "error", err)
	}
}

type listInput struct {
	TemplateID string            `json:"template_id,omitempty" jsonschema:"Only sandboxes of this template."`
	State      string            `json:"state,omitempty" jsonschema:"Only sandboxes in this state: creating, ready, running, paused, terminated or failed. Default: all that live."`
	Metadata   map[string]string `json:"metadata,omitempty" jsonschema:"Only sandboxes with all of these entries."`
	Limit      *int              `json:"limit,omitempty" jsonschema:"How many at most, 1 to 500. Default 50."`
}

type listOutput struct {
	Sandboxes []sandboxOutput `json:"sandboxes"`
	More      bool            `json:"more" jsonschema:"There are older ones that the limit left out."`
}

func (s *Server) listSandboxes(ctx context.Context, _ call, in listInput) (listOutput, []sdk.Content, error) {
	limit, err := within("limit", in.Limit, defaultSandboxes, maxSandboxes)
	if err != nil {
		return listOutput{}, nil, err
	}
	found, err := s.config.Sessions.Sessions(ctx, contract.SessionQuery{
		TemplateID: in.TemplateID, State: yurt.SessionState(in.State), Live: in.State == "", Metadata: in.Metadata, Limit: limit + 1,
	})
	if err != nil {
		return listOutput{}, nil, err
	}
	out := listOutput{Sandboxes: []sandboxOutput{}, More: len(found) > limit}
	for _, session := range found[:min(limit, len(found))] {
		out.Sandboxes = append(out.Sandboxes, newSandboxOutput(session))
	}
	return out, nil, nil
}

// within returns a number of the input, which must be from 1 to most, or else the default.
func within(field string, given *int, otherwise, most int) (int, error) {
	if given == nil {
		return otherwise, nil
	}
	if *given < 1 || *given > most {
		return 0, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, field, "%d is out of range; give 1 to %d", *given, most)
	}
	return *given, nil
}

type terminateInput struct {
	SandboxID     string `json:"sandbox_id"`
	DeleteResults bool   `json:"delete_results,omitempty" jsonschema:"Remove its executions and their results at once. Default: they stay for the time that the operator has set."`
}

func (s *Server) terminateSandbox(ctx context.Context, _ call, in terminateInput) (sandboxOutput, []sdk.Content, error) {
	end := s.config.Sessions.EndSession
	if in.DeleteResults {
		end = s.config.Sessions.DeleteResults
	}
	session, err := end(ctx, in.SandboxID)
	return newSandboxOutput(session), nil, err
}

type templatesInput struct{}

type (
	templatesOutput struct {
		Templates []templateOutput `json:"templates"`
	}
	templateOutput struct {
		TemplateID   string              `json:"template_id"`
		Description  string              `json:"description,omitempty"`
		Runtimes     []string            `json:"runtimes" jsonschema:"Its languages. An empty list means every language of the host."`
		Dependencies map[string][]string `json:"dependencies,omitempty" jsonschema:"Packages that are installed in it, by language."`
		CPU          float64             `json:"cpu" jsonschema:"Cores."`
		MemoryBytes  int64               `json:"memory_bytes"`
		DiskBytes    int64               `json:"disk_bytes" jsonschema:"Of /workspace."`
	}
)

func (s *Server) listTemplates(ctx context.Context, _ call, _ templatesInput) (templatesOutput, []sdk.Content, error) {
	templates, err := s.config.Sessions.Templates(ctx)
	if err != nil {
		return templatesOutput{}, nil, err
	}
	out := templatesOutput{Templates: []templateOutput{}}
	for _, t := range templates {
		limits := t.Resources.Or(yurt.DefaultResources())
		out.Templates = append(out.Templates, templateOutput{
			TemplateID: t.Name, Description: t.Description, Runtimes: append([]string{}, t.Runtimes...), Dependencies: t.Dependencies,
			CPU: limits.CPU, MemoryBytes: int64(limits.Memory), DiskBytes: int64(limits.Disk),
		})
	}
	return out, nil, nil
}
