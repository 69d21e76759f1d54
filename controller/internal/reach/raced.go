package reach

import (
	"context"
	"net/http"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/httpcode"
)

// SayEnded replaces the error of a call that lost a race against the end of its session. The
// call found the session alive, and its sandbox half gone: its caller is told that the session
// has ended ([yurt.CodeSessionEnded]), and not how the node noticed.
func (r *Reach) SayEnded(ctx context.Context, sessionID string, err *error) {
	if !mayBeRace(*err) {
		return
	}
	session, readErr := r.store.Session(context.WithoutCancel(ctx), sessionID)
	if readErr != nil || !session.State.Ended() {
		return
	}
	*err = session.MayExecute()
}

// mayBeRace reports whether the end of a sandbox can be the cause of the error: something is
// not there any more, or the node failed.
func mayBeRace(err error) bool {
	switch code := yurt.CodeOf(err); code {
	case "", yurt.CodeSessionNotFound, yurt.CodeExecutionNotFound, yurt.CodeNotSupported:
		return false // the controller itself says so, of any session
	default:
		status := httpcode.Of(code)
		return status == http.StatusNotFound || status >= http.StatusInternalServerError
	}
}
