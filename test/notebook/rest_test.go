package notebook

import (
	"strings"
	"syscall"
	"testing"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

const choosing = `template "choosing" {
  extends      = "python-basic"
  dependencies = { python = ["ipykernel==7.4.0", "ipython==9.18.1"] }
  kernels      = { python = "ipykernel" }
}`

// choosingSession returns a session of a server whose template chooses ipykernel.
func choosingSession(t *testing.T) (*yurtclient.Client, string) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	_, client := testutil.Serve(t, testutil.BuildYurt(t, "yurt", "test"))
	template, err := client.CreateTemplate(t.Context(), []byte(choosing))
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: template.Name, Mode: yurt.ModePersistent})
	if err != nil {
		t.Fatal(err)
	}
	return client, session.ID
}

// TestIPykernelByREST: a client of the API gets ipykernel's displays and output, and can interrupt
// it and start it anew.
func TestIPykernelByREST(t *testing.T) {
	t.Parallel()
	client, session := choosingSession(t)
	run := func(code string, change ...func(*yurtclient.ExecuteRequest)) *yurt.Result {
		t.Helper()
		req := yurtclient.ExecuteRequest{Language: "python", Code: code}
		for _, c := range change {
			c(&req)
		}
		done, err := client.Execute(t.Context(), session, req)
		if err != nil {
			t.Fatalf("%s\n%v", code, err)
		}
		return done.Result
	}
	if r := run("%%capture caught\nprint('hidden')"); r.Error != nil || r.Stdout != "" {
		t.Errorf("a magic: %+v, stdout %q", r.Error, r.Stdout)
	}
	r := run("from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))\nx = 6 * 7\nx")
	if len(r.Displays) != 2 || string(r.Displays[0]["text/html"]) != `"<b>x</b>"` || r.MainDisplay == nil || *r.MainDisplay != 1 || string(r.Result) != "42" {
		t.Errorf("displays %q, the value's is %s, result %s, error %+v", r.Displays, number(r.MainDisplay), r.Result, r.Error)
	}
	if r := run("1/0"); r.Error == nil || r.Error.Type != "ZeroDivisionError" || r.ExitCode != 1 {
		t.Errorf("an exception: %+v", r.Error)
	}
	if r := run("class Bad:\n    def _repr_html_(self): raise ValueError('no')\nBad()"); r.Error != nil || r.ExitCode != 0 || len(r.Displays) != 1 || !strings.Contains(r.Stderr, "ValueError: no") {
		t.Errorf("a representation that fails: %+v, exit code %d, displays %q, stderr %q", r.Error, r.ExitCode, r.Displays, r.Stderr)
	}
	running, err := client.Start(t.Context(), session, yurtclient.ExecuteRequest{Language: "python", Code: "open('begun', 'w').close()\nwhile True: pass"})
	if err != nil {
		t.Fatal(err)
	}
	run("import os, time\nwhile not os.path.exists('begun'): time.sleep(0.01)", func(r *yurtclient.ExecuteRequest) { r.Context = yurtclient.InContext("") })
	if err := client.Signal(t.Context(), session, running.ID, yurt.Signal(syscall.SIGINT)); err != nil {
		t.Fatal(err)
	}
	if r := run("print(x)"); r.Stdout != "42\n" || r.KernelRestarted { // in turn: the other has ended
		t.Errorf("after an interrupt: stdout %q, error %+v", r.Stdout, r.Error)
	}
	if err := client.RestartContext(t.Context(), session, yurt.DefaultContext, ""); err != nil {
		t.Fatal(err)
	}
	if r := run("print('x' in globals())"); r.Stdout != "False\n" || !r.KernelRestarted {
		t.Errorf("after a restart: stdout %q, error %+v, restarted %t", r.Stdout, r.Error, r.KernelRestarted)
	}
}
