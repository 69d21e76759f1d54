package httpapi_test

import (
	"net/http"
	"testing"

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
