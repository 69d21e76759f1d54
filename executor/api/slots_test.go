package api_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/identity"
	"github.com/yurtrun/yurt/test/testutil"
)

func slotSpec(id string) yurt.SlotSpec {
	spec := testutil.Spec()
	return yurt.SlotSpec{ID: id, Template: spec.Template, Resources: spec.Resources, Once: true, For: "ses_1"}
}

func TestSlots(t *testing.T) {
	client, e := node(t)
	opened, err := client.OpenSlot(t.Context(), slotSpec("a"))
	if err != nil || opened.ID != "a" || !opened.Once {
		t.Fatalf("it opened %+v, %v", opened, err)
	}
	spec := testutil.Spec()
	spec.Labels = map[string]string{yurt.SessionLabel: "ses_1"}
	sandbox, err := client.AwaitSandbox(t.Context(), spec, "a")
	if err != nil || sandbox.Slot != "a" {
		t.Fatalf("it got %+v, %v", sandbox, err)
	}
	want, err := e.Slots(t.Context())
	if err != nil || len(want) != 1 {
		t.Fatal(want, err)
	}
	list, err := client.Slots(t.Context())
	if err != nil || fmt.Sprint(list) != fmt.Sprint(want) {
		t.Errorf("it lists %+v, %v; want %+v", list, err, want)
	}
	errEnough := errors.New("enough")
	for id, want := range map[string][]yurt.Slot{"": want, "a": want, "b": nil} {
		err = client.WatchSlots(t.Context(), id, func(list []yurt.Slot) error {
			if fmt.Sprint(list) != fmt.Sprint(want) {
				t.Errorf("a watcher of %q is told %+v, want %+v", id, list, want)
			}
			return errEnough
		})
		if !errors.Is(err, errEnough) {
			t.Error(err)
		}
	}
	if c, err := client.Capacity(t.Context()); err != nil || c.Templates[spec.Template.Digest()].Claimed != 1 {
		t.Errorf("its capacity is %+v, %v", c, err)
	}
	if err := client.DestroySandbox(t.Context(), sandbox.ID); err != nil {
		t.Fatal(err)
	}
	if ended, err := client.WaitSlot(t.Context(), "a"); err != nil || ended.State != yurt.SlotEnded || ended.Reason == "" {
		t.Errorf("it ended as %+v, %v", ended, err)
	}
	if err := client.CloseSlot(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := client.SetDraining(t.Context(), true); err != nil {
		t.Error(err)
	}
	if _, err := client.OpenSlot(t.Context(), slotSpec("b")); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("drained, it says %v", err)
	}
}

// many is a node with more slots than go in a message.
type many struct{ api.Node }

func (many) WatchSlots(_ context.Context, _ string, each func([]yurt.Slot) error) error {
	for _, count := range []int{0, 1000, 1} {
		list := make([]yurt.Slot, count)
		for i := range list {
			list[i].ID = fmt.Sprint(i)
		}
		if err := each(list); err != nil {
			return err
		}
	}
	return nil
}

func TestWatchOfManySlots(t *testing.T) {
	client, _ := serve(t, many{})
	var counts []int
	err := client.WatchSlots(t.Context(), "", func(list []yurt.Slot) error {
		counts = append(counts, len(list))
		if n := len(list); n > 0 && list[n-1].ID != fmt.Sprint(n-1) {
			t.Errorf("the last of %d is %+v", n, list[n-1])
		}
		return nil
	})
	if fmt.Sprint(counts) != "[0 1000 1]" || yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("it was told of %v, %v", counts, err)
	}
}

// TestSlotsAreGrantedOnTheNode: a controller claims slots for sandboxes, and can neither open nor close a slot.
func TestSlotsAreGrantedOnTheNode(t *testing.T) {
	ca := authority(t)
	address, _ := serveTLS(t, issue(t, ca, identity.RoleExecutor, "n1"), time.Now)
	source, err := identity.Open(issue(t, ca, identity.RoleController, "c1"), identity.RoleController, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client, err := api.NewTLSClient(address, "n1", source)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, opened := client.OpenSlot(t.Context(), slotSpec("a"))
	for what, err := range map[string]error{"open": opened, "close": client.CloseSlot(t.Context(), "a")} {
		if yurt.CodeOf(err) != yurt.CodeForbidden {
			t.Errorf("%s: %v", what, err)
		}
	}
}
