package cli

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// Wait shows on standard error why a silent command waits, unless errors there are JSON. The caller
// calls End.
func (a *App) Wait(phase string) *screen.Wait {
	if a.JSON {
		return nil
	}
	return screen.NewWait(a.Stderr, a.Told(), phase)
}

const startingSandbox = "starting the sandbox"

// WaitForSandbox shows why the creation of a session waits: after a moment it asks the server for
// the template's root file system. The caller calls end once the session is there.
func (a *App) WaitForSandbox(ctx context.Context, client *yurtclient.Client, template string) (end func()) {
	w := a.Wait(startingSandbox)
	if w == nil || template == "" {
		return w.End
	}
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		if t, err := client.Template(ctx, template); err == nil { // else the create reports the error
			w.Describe(StartOf(t))
		}
	})
	return func() {
		cancel()
		asking.Wait()
		w.End()
	}
}

// StartOf describes the step that the start of a sandbox of a template may wait for.
func StartOf(t yurt.Template) string {
	switch {
	case t.RootFS.Image != "":
		return "pulling the image " + t.RootFS.Image + ", and " + startingSandbox
	case len(t.Dependencies) > 0:
		return "installing the packages of the template, and " + startingSandbox
	default:
		return startingSandbox
	}
}

// aheadOf describes the step that an execution waits for before its code runs; "" for a short time.
func aheadOf(phases []yurt.Phase) string {
	switch {
	case slices.Contains(phases, yurt.PhaseInstall) && slices.Contains(phases, yurt.PhaseCompile):
		return "installing packages, and compiling the code"
	case slices.Contains(phases, yurt.PhaseInstall):
		return "installing packages"
	case slices.Contains(phases, yurt.PhaseCompile):
		return "compiling and running the code"
	default:
		return ""
	}
}

// follow keeps the message in step with the events of an execution, before they are shown.
func (s *Shower) follow(event yurt.Event) {
	switch event.Type {
	case yurt.EventStarted:
		s.ahead = aheadOf(event.Phases)
		s.Wait.Phase(s.ahead)
	case yurt.EventProgress:
		s.Wait.Phase(s.ahead)
	default: // its code runs
		s.Wait.Phase("")
	}
}

// Quieting returns an output of the program's: once there is some, no more is said.
func Quieting(output io.Writer, wait *screen.Wait) io.Writer { return quiet{output, wait} }

type quiet struct {
	io.Writer
	wait *screen.Wait
}

func (q quiet) Write(data []byte) (int, error) {
	q.wait.Phase("")
	return q.Writer.Write(data)
}
