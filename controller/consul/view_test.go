package consul

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/yurtrun/yurt"
)

// still returns a view that follows no Consul, at a time that the test moves.
func still(t *testing.T) (*View, *time.Time) {
	t.Helper()
	now := time.Unix(1000, 0)
	v := &View{
		logger: slog.New(slog.DiscardHandler), forget: DefaultForget, now: func() time.Time { return now },
		keys: map[string]*key{}, failing: map[string]bool{}, changed: make(chan struct{}),
	}
	return v, &now
}

func pair(t *testing.T, node string, index uint64, warm int) *api.KVPair {
	t.Helper()
	c := yurt.Capacity{Node: node, Address: node + ":8701", Templates: map[string]yurt.TemplateCapacity{digestOf("a"): {Warm: warm}}}
	return &api.KVPair{Key: keyPrefix + node, Value: marshal(t, c), ModifyIndex: index, Session: "held"}
}

func has(v *View, node string) (there, healthy bool) {
	state, found := v.Node(node)
	return found, state.Healthy
}

func TestANodeWhoseKeyVanishesIsForgotten(t *testing.T) {
	v, now := still(t)
	v.answered(ofKeys, nil)
	v.setKeys(api.KVPairs{pair(t, "a", 1, 1), pair(t, "b", 1, 1)})
	v.setKeys(api.KVPairs{pair(t, "b", 1, 1)})
	if there, healthy := has(v, "a"); !there || healthy {
		t.Errorf("at once: there %v, healthy %v; want it there and not healthy", there, healthy)
	}
	*now = now.Add(DefaultForget / 2)
	v.answered(ofKeys, errors.New("away"))
	*now = now.Add(time.Hour)
	v.expireNow()
	if there, _ := has(v, "a"); !there {
		t.Error("forgotten while Consul was away")
	}
	v.answered(ofKeys, nil)
	v.expireNow()
	if there, _ := has(v, "a"); !there {
		t.Error("forgotten before it could come back")
	}
	*now = now.Add(DefaultForget)
	v.expireNow()
	if there, _ := has(v, "a"); there {
		t.Error("never forgotten")
	}
	if there, healthy := has(v, "b"); !there || !healthy {
		t.Errorf("the other: there %v, healthy %v", there, healthy)
	}
}

// TestConsulComesBackWithoutItsMemory: a node that it does not know any more is as it was
// until it had the time to announce itself again.
func TestConsulComesBackWithoutItsMemory(t *testing.T) {
	v, now := still(t)
	first := api.KVPairs{pair(t, "a", 1, 1), pair(t, "b", 1, 1)}
	v.setKeys(first)
	v.answered(ofKeys, nil)
	v.answered(ofKeys, errors.New("away"))
	*now = now.Add(time.Hour)
	changed := v.Changed()
	v.setKeys(nil)
	v.answered(ofKeys, nil)
	select {
	case <-changed:
		t.Error("it shows something else at once")
	default:
	}
	v.setKeys(first[:1])
	*now = now.Add(DefaultForget)
	v.expireNow()
	if there, healthy := has(v, "a"); !there || !healthy {
		t.Errorf("which came back: there %v, healthy %v", there, healthy)
	}
	if there, _ := has(v, "b"); there {
		t.Error("which did not is never forgotten")
	}
	v.setKeys(nil)
	if there, healthy := has(v, "a"); !there || healthy {
		t.Errorf("which is gone later: there %v, healthy %v", there, healthy)
	}
}

func TestANodeComesBack(t *testing.T) {
	v, _ := still(t)
	v.answered(ofKeys, nil)
	v.setKeys(api.KVPairs{pair(t, "a", 7, 1)})
	v.setKeys(nil)
	v.setKeys(api.KVPairs{pair(t, "a", 7, 1)}) // from a Consul that was restored
	if there, healthy := has(v, "a"); !there || !healthy {
		t.Errorf("there %v, healthy %v", there, healthy)
	}
}

func TestANodeIsShownByWhatItHolds(t *testing.T) {
	v, _ := still(t)
	left := pair(t, "a", 1, 1)
	left.Session = "" // kept by a Consul whose sessions release instead of deleting
	broken := pair(t, "b", 1, 1)
	broken.Value = []byte("{")
	v.setKeys(api.KVPairs{left, broken, pair(t, "c", 1, 1)})
	if nodes := v.Nodes(); len(nodes) != 1 || nodes[0].Name != "c" {
		t.Errorf("shown are %+v; want c alone", nodes)
	}
	changed := v.Changed()
	v.setChecks([]*api.ServiceEntry{{Service: &api.AgentService{Meta: map[string]string{metaNode: "c"}}, Checks: api.HealthChecks{{Status: api.HealthCritical}}}})
	if _, healthy := has(v, "c"); healthy {
		t.Error("healthy with a check that fails")
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was told of the change")
	}
}

func TestNobodyIsToldOfWhatDoesNotChange(t *testing.T) {
	v, now := still(t)
	v.setKeys(api.KVPairs{pair(t, "a", 1, 1)})
	changed := v.Changed()
	*now = now.Add(time.Second)
	v.setKeys(api.KVPairs{pair(t, "a", 1, 1)})
	v.setChecks(nil)
	select {
	case <-changed:
		t.Error("told of a change")
	default:
	}
}

func TestStatus(t *testing.T) {
	v, now := still(t)
	if live, _, _ := v.Status(); live {
		t.Error("live before anything answered")
	}
	v.answered(ofKeys, nil)
	*now = now.Add(time.Second)
	v.answered(ofChecks, nil)
	if live, since, err := v.Status(); !live || !since.Equal(*now) || err != nil {
		t.Errorf("live %v since %v, error %v; want it live since the second answered", live, since, err)
	}
	*now = now.Add(time.Second)
	away := *now
	v.answered(ofChecks, errors.New("one"))
	*now = now.Add(time.Second)
	v.answered(ofKeys, errors.New("two"))
	if live, since, err := v.Status(); live || !since.Equal(away) || err == nil || err.Error() != "one" {
		t.Errorf("live %v since %v, error %v; want it away since the first was", live, since, err)
	}
}

func TestIndexesThatDoNotGoOn(t *testing.T) {
	for _, tt := range []struct{ last, next, want uint64 }{{0, 0, 1}, {0, 5, 5}, {5, 5, 5}, {5, 9, 9}, {9, 5, 0}, {1, 0, 0}} {
		if got := nextIndex(tt.last, tt.next); got != tt.want {
			t.Errorf("after %d and %d it asks for %d; want %d", tt.last, tt.next, got, tt.want)
		}
	}
}
