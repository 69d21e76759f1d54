package main

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

// wait shows on standard error why a silent command waits, unless errors there are JSON. The caller
// calls End.
func (a *app) wait(phase string) *screen.Wait {
	if a.json {
		return nil
	}
	return screen.NewWait(a.stderr, a.told(), phase)
}

const startingSandbox = "starting the sandbox"

// waitForSandbox shows why the creation of a session waits: after a moment it asks the server for
// the template's root file system. The caller calls end once the session is there.
func (a *app) waitForSandbox(ctx context.Context, client *yurtclient.Client, template string) (end func()) {
	w := a.wait(startingSandbox)
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
			w.Describe(startOf(t))
		}
	})
	return func() {
		cancel()
		asking.Wait()
		w.End()
	}
}

// startOf describes the step that the start of a sandbox of a template may wait for.
func startOf(t yurt.Template) string {
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
func (s *shower) follow(event yurt.Event) {
	switch event.Type {
	case yurt.EventStarted:
		s.ahead = aheadOf(event.Phases)
		s.wait.Phase(s.ahead)
	case yurt.EventProgress:
		s.wait.Phase(s.ahead)
	default: // its code runs
		s.wait.Phase("")
	}
}

// quieting is an output of the program's: once there is some, no more is said.
type quieting struct {
	io.Writer
	wait *screen.Wait
}

func (q quieting) Write(data []byte) (int, error) {
	q.wait.Phase("")
	return q.Writer.Write(data)
}
