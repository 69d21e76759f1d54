//go:build long

package load

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// figures are what a server holds.
type figures struct {
	memory      int64 // bytes that no file is behind, of controller and executor
	broker      int64 // likewise, of their broker
	descriptors int   // of both processes
	goroutines  int
}

func (f figures) String() string {
	return fmt.Sprintf("%d MiB, its broker %d, and together %d descriptors, %d goroutines", f.memory>>20, f.broker>>20, f.descriptors, f.goroutines)
}

// figures measures the server: controller and executor in one process, and their broker.
func (s *server) figures(t *testing.T) figures {
	t.Helper()
	executor, err := s.ExecutorPID()
	if err != nil {
		t.Fatal(err)
	}
	all := figures{
		memory: testutil.Memory(t, executor, "RssAnon"), broker: testutil.Memory(t, s.PID(), "RssAnon"),
		goroutines: s.metric(t, "go_goroutines"),
	}
	for _, pid := range []int{s.PID(), executor} {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			t.Fatal(err)
		}
		all.descriptors += len(open)
	}
	return all
}

// metric returns a metric without labels.
func (s *server) metric(t *testing.T, name string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if text, found := strings.CutPrefix(lines.Text(), name+" "); found {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(value)
		}
	}
	t.Fatalf("there is no metric %s, answer %s, error %v", name, resp.Status, lines.Err())
	return 0
}
