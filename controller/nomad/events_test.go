package nomad

import (
	"errors"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// Lines as Nomad 1.11.3 writes them, shortened to the fields that are read and a few more.
func lines() map[string]string {
	return map[string]string{
		"heartbeat": `{}`,
		"placed":    `{"Index":31,"Events":[{"Topic":"Allocation","Type":"PlanResult","Key":"a1","Namespace":"default","FilterKeys":["yurt-slot_1",""],"Index":31,"Payload":{"Allocation":{"ID":"a1","NodeName":"node-7","DesiredStatus":"run","ClientStatus":"pending"}}}]}`,
		"stopped":   `{"Index":32,"Events":[{"Topic":"Allocation","FilterKeys":["yurt-slot_1"],"Payload":{"Allocation":{"NodeName":"node-7","DesiredStatus":"stop"}}}]}`,
		"refused":   `{"Index":33,"Events":[{"Topic":"Evaluation","FilterKeys":["yurt-slot_1",""],"Payload":{"Evaluation":{"Status":"complete","TriggeredBy":"job-register","FailedTGAllocs":{"slot":{"NodesEvaluated":2,"NodesExhausted":2,"DimensionExhausted":{"memory":2}}}}}}]}`,
		"other":     `{"Index":34,"Events":[{"Topic":"Evaluation","FilterKeys":["web"],"Payload":{"Evaluation":17}}]}`,
		"gave up":   `{"Index":35,"Events":[{"Topic":"Evaluation","FilterKeys":["yurt-slot_1"],"Payload":{"Evaluation":{"Status":"failed"}}}]}`,
		"removed":   `{"Index":36,"Events":[{"Topic":"Evaluation","FilterKeys":["yurt-slot_1"],"Payload":{"Evaluation":{"Status":"pending","TriggeredBy":"job-deregister"}}}]}`,
		"complete":  `{"Index":37,"Events":[{"Topic":"Evaluation","FilterKeys":["yurt-slot_1"],"Payload":{"Evaluation":{"Status":"complete","TriggeredBy":"job-register"}}}]}`,
		"blocked":   `{"Index":38,"Events":[{"Topic":"Evaluation","FilterKeys":["yurt-slot_1"],"Payload":{"Evaluation":{"Status":"blocked"}}}]}`,
		"broken":    `{"Index":39,"Events":[{"FilterKeys":["yurt-slot_1"],"Payload":{"Evaluation":17}}]}`,
	}
}

func TestEvents(t *testing.T) {
	want := map[string]struct {
		what   happening
		told   bool
		failed bool
	}{
		"heartbeat": {}, "stopped": {}, "other": {}, "blocked": {},
		"placed": {what: placed, told: true}, "refused": {what: refusal, told: true}, "gave up": {what: gaveUp, told: true},
		"removed": {what: unclear, told: true}, "complete": {what: unclear, told: true}, "broken": {failed: true},
	}
	for name, line := range lines() {
		t.Run(name, func(t *testing.T) {
			var e Engine
			w := e.waiters.add("yurt-slot_1")
			defer e.waiters.remove(w)
			if err := e.deliver([]byte(line)); (err != nil) != want[name].failed {
				t.Fatalf("error %v", err)
			}
			select {
			case n := <-w.news:
				if !want[name].told || n.what != want[name].what || n.what == placed && n.node != "node-7" {
					t.Errorf("told of %+v", n)
				}
			default:
				if want[name].told {
					t.Error("nobody was told")
				}
			}
		})
	}
}

func FuzzEvents(f *testing.F) {
	for _, line := range lines() {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var e Engine
		w := e.waiters.add("yurt-slot_1")
		if err := e.deliver(line); err != nil {
			return
		}
		order := testOrder()
		for len(w.news) > 0 {
			if n := <-w.news; n.what == refusal && refused(&order, n.groups) == nil {
				t.Error("a refusal is no error")
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	order := testOrder()
	for name, tt := range map[string]struct {
		metric metric
		code   yurt.Code
		want   []string
	}{
		"full": {
			metric{NodesEvaluated: 3, NodesFiltered: 1, ConstraintFiltered: map[string]int{"missing drivers": 1}, NodesExhausted: 2, DimensionExhausted: map[string]int{"memory": 1, "cpu": 1}},
			yurt.CodeOverloaded,
			[]string{"no node has 0.5 cores and ", " of memory free", "Resources exhausted on 2 nodes", `Dimension "memory" exhausted on 1 nodes`, `Constraint "missing drivers": 1 nodes excluded`},
		},
		"quota":    {metric{NodesEvaluated: 1, QuotaExhausted: []string{"cpu 4 > 3"}}, yurt.CodeOverloaded, []string{`Quota limit hit "cpu 4 > 3"`, "room for 0.5 cores"}},
		"no nodes": {metric{NodesAvailable: map[string]int{"dc1": 0}}, yurt.CodeUnavailable, []string{`"python"`, "No nodes were eligible for evaluation", `datacenter "dc1"`}},
	} {
		t.Run(name, func(t *testing.T) {
			err := refused(&order, map[string]metric{"slot": tt.metric})
			if yurt.CodeOf(err) != tt.code {
				t.Errorf("code %q; want %q", yurt.CodeOf(err), tt.code)
			}
			for _, words := range tt.want {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q does not say %q", err, words)
				}
			}
			var coded *yurt.Error
			if errors.As(err, &coded) && tt.code == yurt.CodeOverloaded && coded.RetryAfter == 0 {
				t.Error("it does not say when to try again")
			}
		})
	}
}
