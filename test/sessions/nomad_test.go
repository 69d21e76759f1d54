package sessions

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/contract"
	"github.com/yurtrun/yurt/test/testutil"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// TestNomad is about Nomad's own actions, and actions on Nomad, while there are sessions.
func TestNomad(t *testing.T) {
	t.Parallel()
	c := yurtcluster.Test(t, yurtcluster.Options{})
	w := &world{c, contract.Client(t, c.URL())}
	for _, part := range []struct {
		name string
		test func(*testing.T, *world)
	}{
		{"an operator purges the job of a session", testPurged},
		{"Nomad drains the node of a session", testNomadDrains},
		{"a full cluster has room again", testRoomAgain},
		{"Nomad is killed while it places", testNomadKilled},
		{"the controller is killed while Nomad places", testControllerKilled},
		{"the controller runs on Nomad", testOnNomad},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.test(t, w) }) {
			return // the next one would only fail of this
		}
	}
}

func (w *world) wantNothingLeft(t *testing.T) {
	t.Helper()
	testutil.Eventually(t, "Nomad has no job of a session", func() bool { return len(w.jobs(t)) == 0 })
	testutil.Eventually(t, "nothing runs", func() bool { return w.containers(t) == 0 })
}

// testPurged: the session whose job it was fails and says why; the others go on.
func testPurged(t *testing.T, w *world) {
	mine := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	other := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	if _, _, err := w.Nomad.API.Jobs().Deregister("yurt-"+mine.ID, true, nil); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "the session without a job fails", func() bool {
		got, err := w.Session(t.Context(), mine.ID)
		return err == nil && got.State == yurt.SessionFailed && got.Reason != ""
	})
	if out := w.sh(t, other, "echo still here"); out != "still here\n" {
		t.Errorf("it printed %q", out)
	}
	w.end(t, other)
	w.wantNothingLeft(t)
}

// testNomadDrains: a session that Nomad's drain ends gives that reason, its job is not replaced,
// and the node serves again once Nomad may use it.
func testNomadDrains(t *testing.T, w *world) {
	session := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	stubs, _, err := w.Nomad.API.Nodes().List(nil)
	if err != nil || len(stubs) != 1 {
		t.Fatalf("the nodes are %+v, %v", stubs, err)
	}
	id := stubs[0].ID
	wantToldOfDrain(t, w, id, session.ID)
	// Nomad leaves batch jobs alone until the deadline, and this is that it has come.
	drain := &nomad.DrainOptions{DrainSpec: &nomad.DrainSpec{Deadline: -1}}
	if _, err := w.Nomad.API.Nodes().UpdateDrainOpts(id, drain, nil); err != nil {
		t.Fatal(err)
	}
	var ended yurt.Session
	testutil.Eventually(t, "the session fails", func() bool {
		ended, err = w.Session(t.Context(), session.ID)
		return err == nil && ended.State == yurt.SessionFailed
	})
	if !strings.Contains(ended.Reason, "its slot was closed: Nomad stopped its task") {
		t.Errorf("it failed: %s", ended.Reason)
	}
	w.Nomad.WaitNode(t, stubs[0].Name, "drained", func(s *nomad.NodeListStub) bool { return !s.Drain })
	w.wantNothingLeft(t)
	if _, err := w.Nomad.API.Nodes().ToggleEligibility(id, true, nil); err != nil {
		t.Fatal(err)
	}
	next := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	if out := w.sh(t, next, "echo again"); out != "again\n" {
		t.Errorf("it printed %q", out)
	}
	w.end(t, next)
	w.wantNothingLeft(t)
}

// wantToldOfDrain has Nomad drain the node with a deadline that is far away, and calls that off:
// a session on the node is told of both.
func wantToldOfDrain(t *testing.T, w *world, nodeID, session string) {
	t.Helper()
	deadline := time.Now().Add(time.Hour)
	for _, spec := range []*nomad.DrainSpec{{Deadline: time.Hour}, nil} {
		drain := &nomad.DrainOptions{DrainSpec: spec, MarkEligible: spec == nil}
		if _, err := w.Nomad.API.Nodes().UpdateDrainOpts(nodeID, drain, nil); err != nil {
			t.Fatal(err)
		}
		testutil.Eventually(t, fmt.Sprintf("the session is told of the drain %+v", spec), func() bool {
			s, err := w.Session(t.Context(), session)
			if err != nil || s.State != yurt.SessionReady {
				t.Fatalf("the session is %+v, %v", s, err)
			}
			if spec == nil {
				return s.EndsBy == nil
			}
			return s.EndsBy != nil && s.EndsBy.After(deadline.Add(-time.Minute))
		})
	}
}

// testRoomAgain: a session that is refused for lack of room is not placed later, when its caller is
// gone, and once others leave room it can be had.
func testRoomAgain(t *testing.T, w *world) {
	nodes, _, err := w.Nomad.API.Nodes().List(&nomad.QueryOptions{Params: map[string]string{"resources": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	other := w.Nomad.Run(t, fmt.Sprintf(`
job "other" {
  type = "batch"
  group "other" {
    task "other" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["3600"]
      }
      resources { memory = %d }
    }
  }
}`, nodes[0].NodeResources.Memory.MemoryMB-32))
	w.Nomad.WaitRunning(t, *other.ID)
	request := yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent, TemplateID: template}
	if _, err := w.CreateSession(t.Context(), request); yurt.CodeOf(err) != yurt.CodeOverloaded || !strings.Contains(err.Error(), `Dimension "memory" exhausted`) {
		t.Errorf("with no room left a session gets: %v", err)
	}
	if _, _, err := w.Nomad.API.Jobs().Deregister(*other.ID, true, nil); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "there is room again", func() bool {
		session, err := w.CreateSession(t.Context(), request)
		if err != nil {
			return false
		}
		w.end(t, session)
		return true
	})
	w.wantNothingLeft(t)
}

// testNomadKilled: sessions go on without Nomad, and one that is asked for meanwhile waits.
func testNomadKilled(t *testing.T, w *world) {
	before := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	agent := w.Nomad.Servers[0]
	if err := agent.Kill(); err != nil {
		t.Fatal(err)
	}
	if out := w.sh(t, before, "echo without Nomad"); out != "without Nomad\n" {
		t.Errorf("it printed %q", out)
	}
	type answer struct {
		session yurt.Session
		err     error
	}
	asked := make(chan answer, 1)
	go func() {
		session, err := w.CreateSession(t.Context(), yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent, TemplateID: template})
		asked <- answer{session, err}
	}()
	if err := agent.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	during := <-asked
	switch {
	case during.err == nil:
		if out := w.sh(t, during.session, "echo placed"); out != "placed\n" {
			t.Errorf("it printed %q", out)
		}
		w.end(t, during.session)
	case yurt.CodeOf(during.err) != yurt.CodeUnavailable && yurt.CodeOf(during.err) != yurt.CodeDeadlineExceeded:
		t.Errorf("what was asked for meanwhile: %v", during.err)
	}
	if out := w.sh(t, before, "echo after"); out != "after\n" {
		t.Errorf("it printed %q", out)
	}
	w.end(t, before)
	w.wantNothingLeft(t)
}

// testControllerKilled: jobs that Nomad has started by then for sessions whose callers got no
// answer are ended by the next life.
func testControllerKilled(t *testing.T, w *world) {
	var creates sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 6 {
		creates.Go(func() {
			// It is answered or not, as it comes.
			_, _ = w.CreateSession(ctx, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent, TemplateID: template})
		})
	}
	testutil.Eventually(t, "Nomad has a job of a session", func() bool { return len(w.jobs(t)) > 0 })
	old := w.Controllers[0]
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	creates.Wait()
	next, err := w.RestartController(context.WithoutCancel(t.Context()), 1) // it outlives this part
	if err != nil {
		t.Fatal(err)
	}
	if w.Client, err = yurtclient.New(next.URL); err != nil {
		t.Fatal(err)
	}
	sessions, err := w.Sessions(t.Context(), yurtclient.SessionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range sessions.Sessions {
		if !session.State.Ended() {
			w.end(t, session)
		}
	}
	w.wantNothingLeft(t)
}
