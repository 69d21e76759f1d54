package demand_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/demand"
)

// TestCounters counts by template, and forgets the templates that were not requested lately.
func TestCounters(t *testing.T) {
	counted := demand.NewCounters()
	for _, what := range []demand.Outcome{demand.Claimed, demand.Refused, demand.Claimed} {
		counted.Add("digest", "template", what)
	}
	counted.Made("digest", "template", true)
	counted.Made("digest", "template", false) // for the pool
	counted.Add("digest", "template", demand.Cold)
	want := yurt.TemplateCapacity{Template: "template", Cached: true, Claims: 2, Cold: 2, Refused: 1}
	if diff := cmp.Diff(map[string]yurt.TemplateCapacity{"digest": want}, counted.List()); diff != "" {
		t.Error(diff)
	}
	for i := range 1000 {
		counted.Add(strconv.Itoa(i), "another", demand.Refused)
		counted.Add("digest", "template", demand.Refused)
		want.Refused++
	}
	list := counted.List()
	if _, last := list["999"]; !last || list["digest"] != want || len(list) > 100 {
		t.Errorf("of 1001 templates %d are remembered, the last one: %t, the one that is in use as %+v", len(list), last, list["digest"])
	}
}
