package mcp

import (
	"context"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
)

const (
	progressPause = 100 * time.Millisecond // between two messages, so that a loud program costs little
	maxProgress   = 512                    // bytes of a message: the end of the output so far
)

// progress tells a client how an execution goes on, if the client asked for that.
type progress struct {
	request *sdk.CallToolRequest
	token   any
	last    time.Time
}

// newProgress returns nil for a client that asked for no progress.
func newProgress(req *sdk.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return &progress{request: req, token: token}
}

// tell passes an event on, unless the one before was a moment ago. The number of the event is the
// progress: it grows, and the total is not known.
func (p *progress) tell(ctx context.Context, event yurt.Event) error {
	message := describe(event)
	if message == "" || (event.Type != yurt.EventStarted && time.Since(p.last) < progressPause) {
		return nil
	}
	p.last = time.Now()
	return p.request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
		ProgressToken: p.token, Progress: float64(event.Seq), Message: message,
	})
}

// describe says in a line or a few how an execution went on.
func describe(event yurt.Event) string {
	switch event.Type {
	case yurt.EventStarted:
		for _, phase := range event.Phases {
			switch phase {
			case yurt.PhaseInstall:
				return "installing packages"
			case yurt.PhaseCompile:
				return "compiling"
			}
		}
		return "running"
	case yurt.EventStdout, yurt.EventStderr, yurt.EventProgress:
		data := event.Data
		if len(data) > maxProgress {
			data = data[len(data)-maxProgress:]
		}
		return strings.TrimSpace(strings.ToValidUTF8(string(data), "�"))
	case yurt.EventDisplay:
		return "showed something"
	default:
		return ""
	}
}
