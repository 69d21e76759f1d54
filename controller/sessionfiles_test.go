package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
)

func withFiles(files ...yurt.SourceFile) controller.CreateSessionRequest {
	return controller.CreateSessionRequest{TemplateID: "shell-basic", Mode: yurt.ModeEphemeral, Files: files}
}

// TestSessionsBeginWithFiles: the request for the sandbox has the files, and the store does not.
func TestSessionsBeginWithFiles(t *testing.T) {
	w := testWorld(t)
	s, err := w.CreateSession(t.Context(), withFiles(yurt.SourceFile{Path: "in/a", Data: []byte("text")}))
	if err != nil {
		t.Fatal(err)
	}
	info, err := w.StatFile(t.Context(), s.ID, "in/a")
	if err != nil || info.Size != 4 {
		t.Errorf("the file is %+v, %v", info, err)
	}
	if stored := w.session(s.ID); !stored.HasFiles {
		t.Error("it is not kept in mind that it began with files")
	}
	if plain := w.session(w.create("").ID); plain.HasFiles {
		t.Error("another is said to have begun with files")
	}
}

func TestSessionFilesThatAreRefused(t *testing.T) {
	w := testWorld(t)
	small := yurt.Size(yurt.MinDisk)
	tight := withFiles(yurt.SourceFile{Path: "a", Data: make([]byte, yurt.MinDisk+1)})
	tight.Resources.Disk = &small
	reused := withFiles(yurt.SourceFile{Path: "a"})
	reused.AgentID, reused.Reuse, reused.Mode = "me", true, yurt.ModePersistent
	for name, test := range map[string]struct {
		req  controller.CreateSessionRequest
		code yurt.Code
	}{
		"more than the disk":          {tight, yurt.CodeWorkspaceFull},
		"of a session that is reused": {reused, yurt.CodeInvalidArgument},
		"out of the workspace":        {withFiles(yurt.SourceFile{Path: "a/../../b"}), yurt.CodePathOutsideWorkspace},
		"twice":                       {withFiles(yurt.SourceFile{Path: "a"}, yurt.SourceFile{Path: "a"}), yurt.CodeInvalidArgument},
	} {
		_, err := w.CreateSession(t.Context(), test.req)
		var coded *yurt.Error
		if !errors.As(err, &coded) || coded.Code != test.code || coded.Field != "files" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := w.Sessions(t.Context(), contract.SessionQuery{}); err != nil || len(list) != 0 {
		t.Errorf("sessions %+v, %v", list, err)
	}
}

// TestIdempotentCreateWithFiles: a repeated request has to have the same files.
func TestIdempotentCreateWithFiles(t *testing.T) {
	w := testWorld(t)
	create := func(text string) (yurt.Session, error) {
		req := withFiles(yurt.SourceFile{Path: "a", Data: []byte(text)})
		req.IdempotencyKey = "key"
		return w.CreateSession(t.Context(), req)
	}
	first, err := create("one")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := create("one"); err != nil || again.ID != first.ID {
		t.Errorf("the same request got %s, %v", again.ID, err)
	}
	_, err = create("two")
	wantCode(t, err, yurt.CodeIdempotencyConflict)
}

// TestNodeIsLostWithFiles: an execution that never ran does not run elsewhere without its session's files, however
// these came.
func TestNodeIsLostWithFiles(t *testing.T) {
	for how, give := range map[string]func(*world) (yurt.Session, error){
		"created with": func(w *world) (yurt.Session, error) {
			return w.CreateSession(t.Context(), withFiles(yurt.SourceFile{Path: "a"}))
		},
		"written": func(w *world) (yurt.Session, error) {
			s := w.create(yurt.ModeEphemeral)
			_, err := w.WriteFile(t.Context(), s.ID, "a", strings.NewReader("text"), yurt.WriteOptions{})
			return s, err
		},
	} {
		t.Run(how, func(t *testing.T) {
			nodes, use := useCluster()
			w := testWorld(t, use)
			s, err := give(w)
			if err != nil {
				t.Fatal(err)
			}
			nodes.nodes["a"].Fail("RunExecution", yurt.Errorf(yurt.CodeUnavailable, "no route"))
			failed := make(chan error)
			go func() {
				_, err := w.Execute(context.Background(), s.ID, execution.Request{Command: execution.ShellCommand("echo moved")})
				failed <- err
			}()
			w.eventually("it is about to start", func() bool { return w.session(s.ID).State == yurt.SessionRunning })
			nodes.set(func() { nodes.lost["a"], nodes.at = true, "b" })
			wantCode(t, <-failed, yurt.CodeSandboxFailed)
			if n := nodes.nodes["b"].Count(); n != 0 {
				t.Errorf("the other node has %d sandboxes", n)
			}
		})
	}
}
