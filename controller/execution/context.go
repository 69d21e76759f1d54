package execution

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// setContext says where the execution keeps its state.
func setContext(spec *yurt.ExecutionSpec, session yurt.Session, req Request) error {
	switch {
	case req.ContextName == nil:
		program := spec.Entry != "" || len(spec.Args) > 0 || spec.StdinOpen || spec.Terminal != nil
		if spec.Kind == yurt.KindCode && session.Mode == yurt.ModePersistent && !program {
			spec.ContextName, spec.ContextOptional = yurt.DefaultContext, true
		}
		// A handler has no name for where its state is, and may find that of its last invocation.
		spec.ContextOptional = spec.ContextOptional || spec.Kind == yurt.KindHandler && session.Mode == yurt.ModePersistent
	case *req.ContextName == "":
	case spec.Kind != yurt.KindCode:
		spec.ContextName = *req.ContextName // which the validation refuses
	case session.Mode != yurt.ModePersistent:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "context", "an ephemeral session keeps no state; leave the context out, or create a session with mode %q", yurt.ModePersistent)
	default:
		spec.ContextName = *req.ContextName
	}
	return nil
}

// Contexts lists the contexts of a session by name.
func (r *Runner) Contexts(ctx context.Context, sessionID string) (_ []yurt.Context, err error) {
	defer r.reach.SayEnded(ctx, sessionID, &err)
	node, session, err := r.nodeOfLive(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	return node.Contexts(ctx, session.SandboxID)
}

// RestartContext ends the interpreters of the contexts of that name with their present execution; waiting executions go on in fresh
// ones. An empty language means each.
func (r *Runner) RestartContext(ctx context.Context, sessionID, name, language string) error {
	return r.changeContext(ctx, sessionID, name, language, contract.Node.RestartContext)
}

// RemoveContext ends the contexts of that name with everything that runs or waits in
// them. An empty language means each.
func (r *Runner) RemoveContext(ctx context.Context, sessionID, name, language string) error {
	return r.changeContext(ctx, sessionID, name, language, contract.Node.RemoveContext)
}

func (r *Runner) changeContext(ctx context.Context, sessionID, name, language string, change func(contract.Node, context.Context, string, string, string) error) (err error) {
	defer r.reach.SayEnded(ctx, sessionID, &err)
	if err := yurt.ValidateContextName("name", name); err != nil {
		return err
	}
	node, session, err := r.nodeOfLive(ctx, sessionID)
	if err != nil {
		return err
	}
	return change(node, ctx, session.SandboxID, name, language)
}

// AskContext asks the interpreter of a context about code that is not run, as [executor.Executor.AskContext] does. With a
// language of the template's, it makes a context that does not exist.
func (r *Runner) AskContext(ctx context.Context, sessionID, name string, question yurt.Question) (_ yurt.Answer, err error) {
	defer r.reach.SayEnded(ctx, sessionID, &err)
	if err := yurt.ValidateContextName("name", name); err != nil {
		return yurt.Answer{}, err
	}
	if err := question.Validate(); err != nil {
		return yurt.Answer{}, err
	}
	if err := r.life.Serving(); err != nil {
		return yurt.Answer{}, err
	}
	session, node, err := r.reach.Use(ctx, sessionID)
	if err != nil {
		return yurt.Answer{}, err
	}
	if session.Mode != yurt.ModePersistent {
		return yurt.Answer{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "context", "an ephemeral session keeps no state; create a session with mode %q", yurt.ModePersistent)
	}
	if question.Language != "" {
		template, err := r.templateOf(ctx, session)
		if err != nil {
			return yurt.Answer{}, err
		}
		if question.Language, err = r.language(ctx, session.TemplateID, template.Runtimes, question.Language); err != nil {
			return yurt.Answer{}, err
		}
	}
	return node.AskContext(ctx, session.SandboxID, name, question)
}

// nodeOfLive returns the node of a session that has not ended.
func (r *Runner) nodeOfLive(ctx context.Context, sessionID string) (contract.Node, yurt.Session, error) {
	if err := r.life.Serving(); err != nil {
		return nil, yurt.Session{}, err
	}
	session, err := r.reach.Session(ctx, sessionID)
	if err != nil {
		return nil, yurt.Session{}, err
	}
	if err := session.MayExecute(); session.State.Ended() {
		return nil, yurt.Session{}, err
	}
	node, err := r.reach.Node(ctx, session)
	if err != nil {
		return nil, yurt.Session{}, err
	}
	return node, session, nil
}
