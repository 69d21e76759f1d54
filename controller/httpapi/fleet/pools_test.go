package fleet_test

import (
	"net/http"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestPools: a pool that is given a size is listed and claimed from, and counts it.
func TestPools(t *testing.T) {
	s := newServer(t)
	var list struct{ Pools []yurt.Pool }
	pools := func() []yurt.Pool {
		t.Helper()
		s.do(t, "GET", "/api/v1/pools", "").decode(t, &list)
		return list.Pools
	}
	if got := pools(); got == nil || len(got) != 0 {
		t.Errorf("at first there are %+v", got)
	}
	if a := s.do(t, "PUT", "/api/v1/pools/shell-basic", `{"min": 1, "max": 2}`); a.status != http.StatusOK {
		t.Fatalf("answer %d %s", a.status, a.body)
	}
	template, err := s.ctl.Template(t.Context(), "shell-basic")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.node.ReserveSandbox(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	want := yurt.Pool{Template: "shell-basic", PoolSize: yurt.PoolSize{Min: 1, Max: 2}, Target: 1, Ready: 1}
	if got := pools(); len(got) != 1 || got[0] != want {
		t.Errorf("there are %+v, want %+v", got, want)
	}
	for range 2 {
		if a := s.do(t, "POST", "/api/v1/sessions", `{"template_id": "shell-basic"}`); a.status != http.StatusCreated {
			t.Fatalf("answer %d %s", a.status, a.body)
		}
	}
	want.Target, want.Ready, want.Hits, want.Misses, want.HitRate = 2, 0, 1, 1, 0.5
	if got := pools(); len(got) != 1 || got[0] != want {
		t.Errorf("after a hit and a miss there are %+v, want %+v", got, want)
	}
	var one yurt.Pool
	if s.do(t, "GET", "/api/v1/pools/shell-basic", "").decode(t, &one); one != want {
		t.Errorf("it is %+v, want %+v", one, want)
	}
	if a := s.do(t, "DELETE", "/api/v1/pools/shell-basic", ""); a.status != http.StatusOK || len(pools()) != 0 {
		t.Errorf("as its template says it is %s", a.body)
	}
	if s.do(t, "GET", "/api/v1/pools/shell-basic", "").decode(t, &one); one.PoolSize != (yurt.PoolSize{}) {
		t.Errorf("it is %+v", one)
	}
	if a := s.do(t, "PUT", "/api/v1/pools/shell-basic", `{"min": 0, "max": 0}`); a.status != http.StatusOK || len(pools()) != 0 {
		t.Errorf("without a size it is %s", a.body)
	}
}

// TestPoolsChangeInPart: values that a request leaves out stay, and a minimum raises the maximum with it.
func TestPoolsChangeInPart(t *testing.T) {
	s := newServer(t)
	for _, step := range []struct {
		body string
		want yurt.PoolSize
	}{
		{`{}`, yurt.PoolSize{}},
		{`{"min": 3}`, yurt.PoolSize{Min: 3, Max: 6}},
		{`{"min": 2}`, yurt.PoolSize{Min: 2, Max: 6}},
		{`{"max": 9}`, yurt.PoolSize{Min: 2, Max: 9}},
		{`{}`, yurt.PoolSize{Min: 2, Max: 9}},
		{`{"min": 70}`, yurt.PoolSize{Min: 70, Max: 100}},
		{`{"min": 0, "max": 0}`, yurt.PoolSize{}},
	} {
		var pool yurt.Pool
		s.do(t, "PUT", "/api/v1/pools/shell-basic", step.body).decode(t, &pool)
		if pool.PoolSize != step.want {
			t.Errorf("after %s it is %+v, want %+v", step.body, pool.PoolSize, step.want)
		}
	}
	s.do(t, "PUT", "/api/v1/pools/shell-basic", `{"min": 3, "max": 3}`)
	wantProblem(t, s.do(t, "PUT", "/api/v1/pools/shell-basic", `{"max": 2}`), yurt.CodeLimitOutOfRange, "max")
}

func TestPoolsThatAreRefused(t *testing.T) {
	s := newServer(t)
	for body, field := range map[string]string{
		`{"max": -1}`:             "max",
		`{"min": -1, "max": 1}`:   "min",
		`{"min": 2, "max": 1}`:    "max",
		`{"min": 1, "max": 1000}`: "max",
	} {
		wantProblem(t, s.do(t, "PUT", "/api/v1/pools/shell-basic", body), yurt.CodeLimitOutOfRange, field)
	}
	wantProblem(t, s.do(t, "PUT", "/api/v1/pools/missing", `{"min": 1, "max": 1000}`), yurt.CodeTemplateNotFound, "")
	wantProblem(t, s.do(t, "PUT", "/api/v1/pools/missing", `{}`), yurt.CodeTemplateNotFound, "")
	wantProblem(t, s.do(t, "GET", "/api/v1/pools/missing", ""), yurt.CodeTemplateNotFound, "")
	wantProblem(t, s.do(t, "DELETE", "/api/v1/pools/missing", ""), yurt.CodeTemplateNotFound, "")
}
