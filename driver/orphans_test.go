package driver

import (
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/taskspec"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestSweepEndsWhatNomadForgot: the sweep ends the sandboxes of forgotten tasks, no others, and not
// at first sight.
func TestSweepEndsWhatNomadForgot(t *testing.T) {
	e := testutil.Executor(t)
	d := driverOf(t, e)
	d.add(&task{id: "known"})
	here, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	spec := testutil.Spec()
	keep := map[string]bool{}
	for id, tt := range map[string]struct {
		task, dir string
		kept      bool
	}{
		"known": {"known", gone, true}, "here": {"other", here, true}, "nobodys": {"", "", true}, "gone": {"other", gone, false},
	} {
		labels := map[string]string{taskspec.LabelTask: tt.task, taskspec.LabelDir: tt.dir}
		if _, err := e.OpenSlot(t.Context(), yurt.SlotSpec{ID: id, Template: spec.Template, Resources: spec.Resources, Labels: labels}); err != nil {
			t.Fatal(err)
		}
		one := testutil.Spec()
		one.Labels = labels
		if _, err := e.CreateSandbox(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		keep[id], keep[one.ID] = tt.kept, tt.kept
	}
	sweeper := &sweeper{driver: d}
	for round := range 3 {
		if err := sweeper.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		slots, err := e.Slots(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range slots {
			there[s.ID] = true
		}
		sandboxes, err := e.Sandboxes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sandboxes {
			there[s.ID] = true
		}
		for id, kept := range keep {
			if want := kept || round == 0; there[id] != want {
				t.Errorf("after look %d, %s is there: %t, want %t", round, id, there[id], want)
			}
		}
	}
}
