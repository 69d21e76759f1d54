package lambda

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// sandbox is where a test's functions run.
type sandbox struct {
	e  *executor.Executor
	id string
}

func newSandbox(t *testing.T, runtimes ...string) *sandbox {
	t.Helper()
	e := testutil.Executor(t)
	spec := testutil.Spec()
	if len(runtimes) > 0 {
		spec.Template.Runtimes = runtimes
	}
	s, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return &sandbox{e, s.ID}
}

// upload puts a directory of this machine into the workspace.
func (s *sandbox) upload(t *testing.T, dir, to string) {
	t.Helper()
	if _, err := s.e.UnpackFiles(t.Context(), s.id, to, packed(t, dir)); err != nil {
		t.Fatal(err)
	}
}

// packed returns a directory of this machine as an archive.
func packed(t *testing.T, dir string) io.Reader {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close()); err != nil {
		t.Fatal(err)
	}
	return &archive
}

// function is a handler with the command that serves it.
type function struct {
	command []string
	handler string
	files   map[string]string
	env     map[string]string
	context string
	timeout time.Duration
}

func (f function) invocation(event string) yurt.ExecutionSpec {
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindHandler, Command: f.command, Handler: f.handler, Env: f.env,
		Event: json.RawMessage(event), Timeout: yurt.Duration(yurt.DefaultExecutionTimeout), OutputLimit: yurt.DefaultOutputLimit,
	}
	if f.timeout > 0 {
		spec.Timeout = yurt.Duration(f.timeout)
	}
	if f.context != "" {
		spec.Context = json.RawMessage(f.context)
	}
	for _, path := range slices.Sorted(maps.Keys(f.files)) {
		spec.Files = append(spec.Files, yurt.SourceFile{Path: path, Data: []byte(f.files[path])})
	}
	return spec
}

func (s *sandbox) invoke(t *testing.T, f function, event string) *yurt.Result {
	t.Helper()
	return s.run(t, f.invocation(event))
}

func (s *sandbox) run(t *testing.T, spec yurt.ExecutionSpec) *yurt.Result {
	t.Helper()
	if err := s.e.StartExecution(t.Context(), s.id, spec); err != nil {
		t.Fatal(err)
	}
	result, err := s.e.WaitExecution(t.Context(), s.id, spec.ID)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// watch invokes a function that streams its response, and waits in it for a file that is
// written when the first piece has come. It returns the pieces with the result.
func (s *sandbox) watch(t *testing.T, f function, event string) ([]string, *yurt.Result) {
	t.Helper()
	spec := f.invocation(event)
	if err := s.e.StartExecution(t.Context(), s.id, spec); err != nil {
		t.Fatal(err)
	}
	var pieces []string
	var result *yurt.Result
	err := s.e.WatchExecution(t.Context(), s.id, spec.ID, 0, func(e yurt.Event) error {
		switch e.Type {
		case yurt.EventResponse:
			if pieces = append(pieces, string(e.Data)); len(pieces) == 1 {
				_, err := s.e.WriteFile(t.Context(), s.id, goOn, strings.NewReader(""), yurt.WriteOptions{})
				return err
			}
		case yurt.EventEnded:
			result = e.Result
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.e.RemoveFile(t.Context(), s.id, goOn, false); err != nil {
		t.Fatal(err)
	}
	return pieces, result
}

// want invokes a function that has to return this and to print that.
func (s *sandbox) want(t *testing.T, f function, event, result, stdout string) *yurt.Result {
	t.Helper()
	r := s.invoke(t, f, event)
	if r.Error != nil || r.ExitCode != 0 || string(r.Result) != result || r.Stdout != stdout {
		t.Fatalf("invoked with %s: result %s, want %s; stdout %q, want %q (exit code %d, error %+v, stderr %q)", event, r.Result, result, r.Stdout, stdout, r.ExitCode, r.Error, r.Stderr)
	}
	return r
}

// wantError invokes a function that has to fail with an error of this type.
func (s *sandbox) wantError(t *testing.T, f function, event, kind string) *yurt.Result {
	t.Helper()
	r := s.invoke(t, f, event)
	if r.Error == nil || r.Error.Type != kind || r.ExitCode == 0 {
		t.Fatalf("invoked with %s: error %+v, want %s (exit code %d, stdout %q, stderr %q)", event, r.Error, kind, r.ExitCode, r.Stdout, r.Stderr)
	}
	return r
}

// cached returns a directory that fill has filled, once for all runs of the tests.
func cached(t *testing.T, name string, fill func(dir string)) string {
	t.Helper()
	return testutil.Cached(t, filepath.Join("lambda", name), fill)
}
