package nomad

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
)

const (
	maxWords   = 8                // reasons of Nomad's in one answer
	retryAfter = 10 * time.Second // room comes back as sessions end
)

// metric is Nomad's report on the nodes that it considered for a group that it could not place.
type metric struct {
	NodesEvaluated     int
	NodesFiltered      int
	NodesAvailable     map[string]int
	ClassFiltered      map[string]int
	ConstraintFiltered map[string]int
	NodesExhausted     int
	ClassExhausted     map[string]int
	DimensionExhausted map[string]int
	QuotaExhausted     []string
}

// refused is the error of an order that Nomad could not place: the order, then Nomad's own words, as its command line has them.
func refused(order *cluster.Order, groups map[string]metric) error {
	var words []string
	full := false
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		m := groups[name]
		full = full || m.NodesExhausted > 0 || len(m.QuotaExhausted) > 0
		words = append(words, m.words()...)
	}
	if len(words) > maxWords {
		words = append(words[:maxWords], fmt.Sprintf("and %d more", len(words)-maxWords))
	}
	if !full {
		return yurt.Errorf(yurt.CodeUnavailable, "no node of the cluster can run a sandbox of the template %q: Nomad says: %s", order.Template.Name, strings.Join(words, "; "))
	}
	err := yurt.Errorf(yurt.CodeOverloaded, "no node has %s free: Nomad says: %s", room(order, groups), strings.Join(words, "; "))
	err.RetryAfter = retryAfter
	return err
}

// room names the resources of the order of which the nodes have too little.
func room(order *cluster.Order, groups map[string]metric) string {
	short := map[string]bool{}
	for _, m := range groups {
		for dimension := range m.DimensionExhausted {
			short[dimension] = true
		}
	}
	r := order.Resources
	all := []struct{ dimension, what string }{
		{"cpu", fmt.Sprintf("%v cores", r.CPU)},
		{"memory", fmt.Sprintf("%s of memory", r.Memory)},
		{"disk", fmt.Sprintf("%s of disk", r.Disk)},
	}
	var list []string
	for _, one := range all {
		if short[one.dimension] {
			list = append(list, one.what)
		}
	}
	if len(list) == 0 { // a quota, a device, a port
		return fmt.Sprintf("room for %s and %s", all[0].what, all[1].what)
	}
	return strings.Join(list, " and ")
}

// words are those that Nomad's command line has for it.
func (m *metric) words() []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if m.NodesEvaluated == 0 {
		say("No nodes were eligible for evaluation")
	}
	for _, dc := range slices.Sorted(maps.Keys(m.NodesAvailable)) {
		if m.NodesAvailable[dc] == 0 {
			say("No nodes are available in datacenter %q", dc)
		}
	}
	each := func(counts map[string]int, format string) {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			say(format, name, counts[name])
		}
	}
	each(m.ClassFiltered, "Class %q: %d nodes excluded by filter")
	each(m.ConstraintFiltered, "Constraint %q: %d nodes excluded by filter")
	if m.NodesExhausted > 0 {
		say("Resources exhausted on %d nodes", m.NodesExhausted)
	}
	each(m.ClassExhausted, "Class %q exhausted on %d nodes")
	each(m.DimensionExhausted, "Dimension %q exhausted on %d nodes")
	for _, quota := range m.QuotaExhausted {
		say("Quota limit hit %q", quota)
	}
	return list
}
