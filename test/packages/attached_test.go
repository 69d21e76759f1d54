package packages

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
)

// TestAttachedWaitsForPackages closes the descriptor that it handed in before the code begins.
func TestAttachedWaitsForPackages(t *testing.T) {
	t.Parallel()
	e := node(t)
	s := sandbox(t, e, "python")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	spec := needs("humanize==4.9.0", "import humanize\nprint(humanize.intcomma(1000))")
	spec.ID, spec.Kind, spec.Timeout, spec.OutputLimit = yurt.NewExecutionID(), yurt.KindCode, yurt.Duration(3*time.Minute), yurt.DefaultOutputLimit
	err = e.StartAttached(t.Context(), s, spec, executor.Stdio{Stdout: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	o := wait(t, e, s, spec.ID)
	out, err := io.ReadAll(r)
	if err != nil || string(out) != "1,000\n" || o.Error != nil || o.Stdout != "" {
		t.Errorf("it printed %q, %v, and ended with %+v", out, err, o.Result)
	}
	if !o.installed() || !strings.Contains(o.progress, "Successfully installed") {
		t.Errorf("of the installation it was told %q", o.progress)
	}
}
