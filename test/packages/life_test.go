package packages

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/egress"
	"github.com/yurtrun/yurt/test/testutil"
)

// slow is a registry that does not answer until it is told to, and then reports that there is no
// such package.
func slow(t *testing.T) (asked <-chan struct{}, change func(*executor.Config)) {
	t.Helper()
	first := make(chan struct{})
	over := make(chan struct{})
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(first) })
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(over); server.Close() })
	host, err := egress.HostOf(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return first, func(c *executor.Config) {
		c.Packages.Hosts, c.Packages.Env = []egress.Host{host}, map[string]string{"PIP_INDEX_URL": server.URL}
	}
}

func needs(dependency, code string) yurt.ExecutionSpec {
	return yurt.ExecutionSpec{Language: "python", Code: code, Dependencies: []string{dependency}}
}

// TestWaitIsCancelled leaves an installation in the ways there are.
func TestWaitIsCancelled(t *testing.T) {
	t.Parallel()
	asked, change := slow(t)
	e := node(t, change)
	s, other := sandbox(t, e, "python"), sandbox(t, e, "python")
	id, second := begin(t, e, s, needs("x", "print(1)")), begin(t, e, other, needs("x", "print(1)"))
	<-asked
	if err := e.WriteStdin(t.Context(), s, id, []byte("x"), false); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("writing to it: %v", err)
	}
	if err := e.SignalExecution(t.Context(), s, id, yurt.SignalKill); err != nil {
		t.Fatal(err)
	}
	o := wait(t, e, s, id)
	if o.Error == nil || o.Error.Type != yurt.ErrorTypeInterrupted {
		t.Errorf("signalled: %+v", o.Error)
	}
	wantOutput(t, run(t, e, s, yurt.ExecutionSpec{Language: "python", Code: "print(2)"}), "2\n")
	waited := make(chan *yurt.Result, 1)
	go func() {
		result, _ := e.WaitExecution(t.Context(), other, second)
		waited <- result
	}()
	if err := e.DestroySandbox(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if result := <-waited; result != nil && (result.Error == nil || result.Error.Type != yurt.ErrorTypeSandboxLost) {
		t.Errorf("its sandbox was destroyed: %+v", result.Error)
	}
}

// life starts an executor that the test closes itself.
func life(t *testing.T, config executor.Config) *executor.Executor {
	t.Helper()
	e := testutil.Open(t, config)
	return e
}

// TestPackagesOverRestart closes the executor while packages are installed, and while some
// are in use.
func TestPackagesOverRestart(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	e := life(t, config)
	s := sandbox(t, e, "python")
	humanize := needs("humanize==4.9.0", "import humanize\nprint(humanize.intcomma(1000))")
	wantOutput(t, run(t, e, s, humanize), "1,000\n")
	asked, change := slow(t)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	slowly := config
	change(&slowly)
	e = life(t, slowly)
	id := begin(t, e, s, needs("x", "print(1)"))
	<-asked
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = testutil.Start(t, config)
	o := wait(t, e, s, id)
	if o.Error == nil || o.Error.Type != yurt.ErrorTypeDependency || !strings.Contains(o.Error.Message, "restarted") {
		t.Errorf("it waited: %+v", o.Error)
	}
	o = run(t, e, s, humanize)
	wantOutput(t, o, "1,000\n")
	if o.installed() {
		t.Error("it was installed again")
	}
	if list, err := e.Sandboxes(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%d sandboxes, %v", len(list), err)
	}
}

// TestOneInstallationForAll has several sessions ask for the same at once, and in contexts.
func TestOneInstallationForAll(t *testing.T) {
	t.Parallel()
	e := node(t)
	var ids [3]string
	var sandboxes [3]string
	for i := range ids {
		sandboxes[i] = sandbox(t, e, "python")
		spec := needs("humanize==4.9.0", "import humanize\nprint(humanize.intcomma(1000))")
		spec.ContextName = "default"
		ids[i] = begin(t, e, sandboxes[i], spec)
	}
	var said []string
	for i, id := range ids {
		o := wait(t, e, sandboxes[i], id)
		wantOutput(t, o, "1,000\n")
		if o.progress != "" {
			said = append(said, o.progress)
		}
	}
	for _, text := range said {
		if strings.Count(text, "Successfully installed") != 1 || text != said[0] {
			t.Errorf("they were told of different installations:\n%s\nand\n%s", said[0], text)
		}
	}
	later := yurt.ExecutionSpec{Language: "python", Code: "import humanize\nprint(humanize.intcomma(2000))", ContextName: "default"}
	wantOutput(t, run(t, e, sandboxes[0], later), "2,000\n") // the context has it
	later.ContextName = ""
	if o := run(t, e, sandboxes[0], later); o.Error == nil || o.Error.Type != "ModuleNotFoundError" {
		t.Errorf("a fresh interpreter has it too: %+v", o.Error)
	}
}

// TestRefusals makes invalid requests.
func TestRefusals(t *testing.T) {
	t.Parallel()
	e := node(t, func(c *executor.Config) { c.Packages.Off = true })
	s := sandbox(t, e, "python")
	for name, tt := range map[string]struct {
		spec yurt.ExecutionSpec
		code yurt.Code
	}{
		"off":       {needs("humanize", "print(1)"), yurt.CodeNotSupported},
		"an option": {needs("--index-url=http://evil.test", "print(1)"), yurt.CodeInvalidArgument},
		"empty":     {needs("", "print(1)"), yurt.CodeInvalidArgument},
		"control":   {needs("a\nb", "print(1)"), yurt.CodeInvalidArgument},
		"long":      {needs(strings.Repeat("a", 2000), "print(1)"), yurt.CodeInvalidArgument},
		"a command": {yurt.ExecutionSpec{Kind: yurt.KindCommand, Command: []string{"true"}, Dependencies: []string{"x"}}, yurt.CodeInvalidArgument},
	} {
		spec := tt.spec
		spec.ID, spec.Timeout, spec.OutputLimit = yurt.NewExecutionID(), yurt.Duration(yurt.DefaultExecutionTimeout), yurt.DefaultOutputLimit
		if spec.Kind == "" {
			spec.Kind = yurt.KindCode
		}
		if err := e.StartExecution(t.Context(), s, spec); yurt.CodeOf(err) != tt.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}
