package load

import (
	"sync"
	"testing"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

// crowded is how many creates wait at once.
const crowded = 1000

// serveCrowd starts a server that makes one sandbox at a time and has a crowd of creates wait, and returns the client of the crowd.
func serveCrowd(t *testing.T) (*server, *yurtclient.Client) {
	t.Helper()
	s := serve(t, "--max-creates", "1", "--max-queue", "1200", "--max-sandboxes", "1200", "--memory-overcommit", "1000")
	if _, err := s.admin.SetPool(t.Context(), template, yurt.PoolSize{}.Change()); err != nil {
		t.Fatal(err)
	}
	return s, s.tenant(t, "crowd")
}

// awaitCrowd returns when most of the creates wait.
func awaitCrowd(t *testing.T, crowd *yurtclient.Client) {
	t.Helper()
	testutil.Eventually(t, "the crowd's creates wait", func() bool {
		usage, err := yurtclient.NewTenants(crowd).Usage(t.Context(), "")
		return err == nil && usage.Usage.Sessions >= crowded*9/10
	})
}

// TestCreatesEndWithTheirCallers: once the callers of 1,000 waiting creates have hung up, no create waits.
func TestCreatesEndWithTheirCallers(t *testing.T) {
	_, crowd := serveCrowd(t)
	leave := wait(t, crowd, crowded)
	awaitCrowd(t, crowd)
	leave()
	testutil.Eventually(t, "the creates have ended", func() bool {
		page, err := crowd.Sessions(t.Context(), yurtclient.SessionFilter{State: yurt.SessionCreating})
		return err == nil && len(page.Sessions) == 0
	})
	page, err := crowd.Sessions(t.Context(), yurtclient.SessionFilter{State: yurt.SessionTerminated})
	if err != nil || len(page.Sessions) == 0 || page.Sessions[0].Reason != "the caller left before it was ready" {
		t.Errorf("the newest of the terminated sessions are %.1v, error %v", page.Sessions, err)
	}
}

// TestStopRefusesWaitingCreates: a server that is told to stop while 1,000 creates wait answers each of them with the code unavailable
// and the time to come again, ends without an error and leaves no sandbox.
func TestStopRefusesWaitingCreates(t *testing.T) {
	s, crowd := serveCrowd(t)
	outcomes := make(chan error, crowded)
	var creating sync.WaitGroup
	for range crowded {
		creating.Go(func() {
			_, err := crowd.CreateSession(t.Context(), small())
			outcomes <- err
		})
	}
	awaitCrowd(t, crowd)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	creating.Wait()
	close(outcomes)
	refused := 0
	for err := range outcomes {
		switch {
		case err == nil: // it was made before
		case yurt.CodeOf(err) == yurt.CodeUnavailable && yurtclient.RetryAfter(err) > 0:
			refused++
		default:
			t.Errorf("a create at the end of the server has the error %v", err)
		}
	}
	if refused < crowded/2 {
		t.Errorf("%d of %d creates were refused; most waited when the server stopped", refused, crowded)
	}
}
