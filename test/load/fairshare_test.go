package load

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

// small is a request for a session of which a thousand fit into the memory of any machine.
func small() yurtclient.CreateSessionRequest {
	return yurtclient.CreateSessionRequest{TemplateID: template, Resources: &yurtclient.Resources{Memory: yurt.MinMemory, Disk: yurt.MinDisk}}
}

// TestFairShare: 1,000 waiting creates of one tenant delay a create of another by at most two creates, and a full queue makes room.
func TestFairShare(t *testing.T) {
	for name, queue := range map[string]string{"all of them wait at the node": "1200", "the queue of the node is full": "256"} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, "--max-creates", "1", "--max-queue", queue, "--max-sandboxes", "1200", "--memory-overcommit", "1000")
			crowd, rival := s.tenant(t, "crowd"), s.tenant(t, "rival")
			if _, err := s.admin.SetPool(t.Context(), template, yurt.PoolSize{}.Change()); err != nil {
				t.Fatal(err)
			}
			leave := wait(t, crowd, 1000)
			testutil.Eventually(t, "the crowd's creates wait", func() bool {
				usage, err := yurtclient.NewTenants(crowd).Usage(t.Context(), "")
				return err == nil && usage.Usage.Sessions >= 250
			})
			made, err := rival.CreateSession(t.Context(), small())
			if err != nil {
				t.Fatal("a create beside the crowd:", err)
			}
			longest := longestMaking(t, crowd)
			if waited := made.Placement.Phases[phaseQueue]; waited > 2*longest {
				t.Errorf("a create waited for %v ms beside the crowd, of whose creates the longest took %v ms; it may wait for two", waited, longest)
			}
			leave()
		})
	}
}

// wait has so many creates of a client wait. The returned function ends them.
func wait(t *testing.T, client *yurtclient.Client, creates int) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for range creates {
		crowd.Go(func() { // one that is refused comes again, as a client does
			for ctx.Err() == nil {
				if _, err := client.CreateSession(ctx, small()); yurt.CodeOf(err) != yurt.CodeOverloaded {
					return
				}
				time.Sleep(time.Second)
			}
		})
	}
	return func() { cancel(); crowd.Wait() }
}

// phaseQueue is the wait at the node until a sandbox is made.
const phaseQueue = "queue"

// longestMaking returns how many milliseconds the longest of the creates of a client's tenant took, without its wait.
func longestMaking(t *testing.T, client *yurtclient.Client) (longest float64) {
	t.Helper()
	filter := yurtclient.SessionFilter{State: yurt.SessionReady, Limit: 500}
	page, err := client.Sessions(t.Context(), filter)
	if err != nil || len(page.Sessions) == 0 {
		t.Fatalf("%d sessions of the crowd are ready, error %v", len(page.Sessions), err)
	}
	for _, session := range page.Sessions {
		phases := session.Placement.Phases
		longest = max(longest, phases["total"]-phases[phaseQueue])
	}
	return longest
}
