package fleet_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

// TestNodes: the one node of this server is described.
func TestNodes(t *testing.T) {
	s := newServer(t)
	var list struct{ Nodes []yurt.NodeInfo }
	a := s.do(t, "GET", "/api/v1/nodes", "")
	if a.decode(t, &list); a.status != http.StatusOK || len(list.Nodes) != 1 {
		t.Fatalf("answer %d %s", a.status, a.body)
	}
	if n := list.Nodes[0]; n.Name != "fake" || !n.Healthy || n.Draining || n.Warm == nil || n.UpdatedAt.IsZero() {
		t.Errorf("the node is %+v", n)
	}
}

// TestDrainNode: the sessions get a notice, and another when the drain is undone.
func TestDrainNode(t *testing.T) {
	s := newServer(t)
	var created yurt.Session
	s.do(t, "POST", "/api/v1/sessions", `{"template_id": "shell-basic"}`).decode(t, &created)
	id := created.ID
	const path = "/api/v1/nodes/fake/drain"
	var drain yurt.Drain
	a := s.do(t, "POST", path, `{"grace":"1h"}`)
	if a.decode(t, &drain); a.status != http.StatusOK || !drain.Draining || drain.Sessions != 1 || drain.EndsBy == nil {
		t.Errorf("answer %d %s", a.status, a.body)
	}
	var session struct {
		EndsBy *time.Time `json:"ends_by"`
	}
	a = s.do(t, "GET", "/api/v1/sessions/"+id, "")
	if a.decode(t, &session); session.EndsBy == nil || !session.EndsBy.Equal(*drain.EndsBy) {
		t.Errorf("the session is %s", a.body)
	}
	if a := s.do(t, "GET", "/api/v1/sessions/"+id+"/events", ""); !strings.Contains(a.body, "its node fake is drained") {
		t.Errorf("the events are %s", a.body)
	}
	a = s.do(t, "DELETE", path, "")
	drain = yurt.Drain{}
	if a.decode(t, &drain); a.status != http.StatusOK || drain.Draining || drain.Sessions != 1 || drain.EndsBy != nil {
		t.Errorf("answer %d %s", a.status, a.body)
	}
	for body, code := range map[string]string{`{"grace":"-1s"}`: "limit_out_of_range", `{"wait":"1s"}`: "unknown_field"} {
		if a := s.do(t, "POST", path, body); !strings.Contains(a.body, code) {
			t.Errorf("%s: answer %d %s", body, a.status, a.body)
		}
	}
	for _, method := range []string{"POST", "DELETE"} {
		for name, says := range map[string]string{
			"fkae":   `there is no node \"fkae\"; did you mean \"fake\"? (the nodes are fake)`,
			"node-7": `there is no node \"node-7\"; the nodes are fake`,
		} {
			a := s.do(t, method, "/api/v1/nodes/"+name+"/drain", "{}")
			if a.status != http.StatusNotFound || !strings.Contains(a.body, `"node_not_found"`) || !strings.Contains(a.body, says) {
				t.Errorf("%s: answer %d %s", name, a.status, a.body)
			}
		}
	}
}
