package api_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestReserves(t *testing.T) {
	client, _ := node(t)
	spec := testutil.Spec()
	spec.Labels = map[string]string{"owner": "somebody"}
	if _, found, err := client.ClaimSandbox(t.Context(), spec); found || err != nil {
		t.Fatalf("there is none, and it was %v, %v", found, err)
	}
	for range 2 {
		if _, err := client.ReserveSandbox(t.Context(), spec.Template); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := client.Reserves(t.Context()); err != nil || len(list) != 1 || list[0].Ready != 2 || list[0].Digest != spec.Template.Digest() {
		t.Errorf("the reserves are %+v, %v", list, err)
	}
	sandbox, found, err := client.ClaimSandbox(t.Context(), spec)
	if err != nil || !found || sandbox.Labels["owner"] != "somebody" {
		t.Fatalf("claimed %+v, %v, %v", sandbox, found, err)
	}
	if r := run(t, client, sandbox.ID, "echo mine"); r.Stdout != "mine\n" {
		t.Errorf("%+v", r)
	}
	if err := client.ReleaseReserve(t.Context(), spec.Template.Digest()); err != nil {
		t.Error(err)
	}
	if list, err := client.Reserves(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("left are %+v, %v", list, err)
	}
}

func TestContexts(t *testing.T) {
	client, e := node(t)
	sandbox := create(t, client)
	if list, err := client.Contexts(t.Context(), sandbox.ID); err != nil || len(list) != 0 {
		t.Errorf("there are %+v, %v", list, err)
	}
	for name, call := range map[string]struct{ direct, remote error }{
		"restart": {e.RestartContext(t.Context(), sandbox.ID, "none", ""), client.RestartContext(t.Context(), sandbox.ID, "none", "")},
		"remove":  {e.RemoveContext(t.Context(), sandbox.ID, "none", ""), client.RemoveContext(t.Context(), sandbox.ID, "none", "")},
	} {
		if yurt.CodeOf(call.remote) != yurt.CodeOf(call.direct) || call.direct == nil {
			t.Errorf("%s of one that is not there is %v, want %v", name, call.remote, call.direct)
		}
	}
}
