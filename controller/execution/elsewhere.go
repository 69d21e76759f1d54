package execution

import (
	"context"
	"errors"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
)

// nodeIsLost reports whether the node that an execution runs on is lost, and notes it as
// the reason for its end. One that is not lost is followed to where it is now.
func (t *Tracker) nodeIsLost(run *inflight) bool {
	work, cancel := life.Detached(run.ctx, startLimit)
	defer cancel()
	session, err := t.store.Session(work, run.record.SessionID)
	if err != nil || session.Placement.Node == "" {
		return false
	}
	node, err := t.placer.Node(work, session.Placement.Node)
	if err == nil {
		run.move(node, session.SandboxID)
	}
	if yurt.CodeOf(err) != yurt.CodeNotFound {
		return false
	}
	run.endWith(&endCause{yurt.ErrorTypeSandboxLost, "its node " + session.Placement.Node + " is lost"})
	return true
}

// startSomewhere starts an execution at its session's node. When that does not answer, it asks again for the one execution of an
// ephemeral session, under its id, until the node answers or is lost: then it starts it on another node. A lost node may have
// begun with it all the same, without an acknowledgement; its effects reach no caller.
func (t *Tracker) startSomewhere(ctx context.Context, run *inflight, session yurt.Session, spec yurt.ExecutionSpec) error {
	for try := 1; ; try++ {
		node, sandbox := run.place()
		err := run.start(ctx, node, sandbox, spec)
		switch {
		case try > 1 && isRepeated(err):
			return nil
		case session.Mode != yurt.ModeEphemeral || !unanswered(err):
			return err
		}
		life.Sleep(run.ctx, nodeRetry)
		if ctx.Err() != nil || run.ctx.Err() != nil {
			return err
		}
		node, nodeErr := t.placer.Node(ctx, session.Placement.Node)
		if nodeErr == nil {
			run.move(node, sandbox)
		}
		if yurt.CodeOf(nodeErr) != yurt.CodeNotFound {
			continue
		}
		if session, err = t.placeElsewhere(ctx, run, session); err != nil {
			return err
		}
	}
}

// isRepeated reports whether a node refuses an execution because it knows its id already.
func isRepeated(err error) bool {
	var coded *yurt.Error
	return errors.As(err, &coded) && coded.Code == yurt.CodeInvalidArgument && coded.Field == "id"
}

// placeElsewhere gives a session, whose node is lost before anything ran, another sandbox.
func (t *Tracker) placeElsewhere(ctx context.Context, run *inflight, session yurt.Session) (yurt.Session, error) {
	if session.HasFiles {
		return session, yurt.Errorf(yurt.CodeSandboxFailed, "node %s is lost, and with it the files that the session was given; create another session", session.Placement.Node)
	}
	template, err := t.templates.PooledTemplate(access.OfTenant(ctx, session.Tenant), session.TemplateID)
	if err != nil {
		return session, err
	}
	lost := session.Placement.Node
	session.SandboxID = yurt.NewSandboxID()
	sandbox, placement, err := t.placer.Place(ctx, session.SandboxSpec(template), contract.Hints{})
	if err != nil {
		return session, yurt.OrCode(err, yurt.CodeSandboxFailed, "no sandbox could be made")
	}
	session.SandboxID, session.Placement = sandbox.ID, placement
	moved, err := t.store.ChangeSession(ctx, session.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if s.State != yurt.SessionRunning {
			return nil, yurt.Errorf(yurt.CodeSessionEnded, "session %s is %s meanwhile: %s", s.ID, s.State, s.Reason)
		}
		s.SandboxID, s.Placement = sandbox.ID, placement
		return s.Remark("its node "+lost+" was lost before anything ran; it goes on at "+placement.Node, t.life.Now()), nil
	})
	if err == nil {
		var node contract.Node
		if node, err = t.placer.Node(ctx, placement.Node); err == nil {
			run.move(node, sandbox.ID)
			t.life.Log.Info("session placed again", "session", session.ID, "lost", lost, "node", placement.Node)
			return moved, nil
		}
	}
	t.Teardown(session, yurt.ErrorTypeSessionEnded, "")
	return session, err
}
