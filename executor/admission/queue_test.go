package admission_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/yurtrun/yurt/executor/admission"
)

// TestUrgentCallersGoFirst: an urgent caller finds a place free although all patient ones came before it,
// and goes before them; the place of a caller that gave up is the next one's.
func TestUrgentCallersGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := admission.NewQueue(4)
		var order []string
		came := make(chan string, 10)
		want := func(name string, ctx context.Context, urgent bool) {
			go func() {
				if err := queue.Enter(ctx, "", urgent, nil); err != nil {
					name += ": " + err.Error()
				}
				came <- name
			}()
			synctest.Wait()
			for len(came) > 0 {
				order = append(order, <-came)
			}
		}
		check := func(when string, names ...string) {
			t.Helper()
			synctest.Wait()
			for len(came) > 0 {
				order = append(order, <-came)
			}
			if len(order) != len(names) {
				t.Fatalf("%s came %q, want %q", when, order, names)
			}
			for i := range names {
				if order[i] != names[i] {
					t.Fatalf("%s came %q, want %q", when, order, names)
				}
			}
			order = nil
		}
		for _, name := range []string{"p1", "p2", "p3", "p4"} {
			want(name, t.Context(), false)
		}
		check("of the patient", "p1", "p2")
		want("u1", t.Context(), true)
		want("u2", t.Context(), true)
		check("of the urgent", "u1", "u2")
		ctx, cancel := context.WithCancelCause(t.Context())
		want("u3", ctx, true)
		want("u4", t.Context(), true)
		check("when all are taken")
		cancel(errors.New("left"))
		check("of who left", "u3: context canceled")
		queue.Leave()
		check("after one was given", "u4")
		queue.Leave()
		queue.Leave()
		check("as long as the urgent may come")
		queue.Leave()
		check("after that", "p3")
		queue.Leave()
		queue.Leave()
		check("in the end", "p4")
	})
}

// TestHurriedCallersAreUrgent: a patient caller goes before other patient ones once its hurry channel is closed.
func TestHurriedCallersAreUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := admission.NewQueue(2)
		came := make(chan string, 4)
		hurry := make(chan struct{})
		take := func(name string, hurry <-chan struct{}) {
			go func() {
				if err := queue.Enter(t.Context(), "", false, hurry); err != nil {
					t.Error(err)
				}
				came <- name
			}()
			synctest.Wait()
		}
		take("first", nil) // the other place is for urgent callers
		take("second", nil)
		take("third", hurry)
		if len(came) != 1 {
			t.Fatalf("%d callers were admitted, want 1", len(came))
		}
		<-came
		close(hurry)
		if name := <-came; name != "third" {
			t.Errorf("the %s was admitted, want the third", name)
		}
		queue.Leave()
		queue.Leave()
		if name := <-came; name != "second" {
			t.Errorf("then the %s was admitted, want the third", name)
		}
	})
}

// TestPatientCallersAreServed although an urgent one always waits.
func TestPatientCallersAreServed(t *testing.T) {
	queue := admission.NewQueue(2)
	served := make(chan struct{})
	for range 2 {
		if err := queue.Enter(t.Context(), "", true, nil); err != nil {
			t.Fatal(err)
		}
	}
	waiting := make(chan struct{})
	var asked []chan struct{}
	go func() {
		defer close(served)
		close(waiting)
		if err := queue.Enter(t.Context(), "", false, nil); err != nil {
			t.Error(err)
		}
	}()
	<-waiting
	for {
		came := make(chan struct{})
		asked = append(asked, came)
		go func() {
			defer close(came)
			if err := queue.Enter(t.Context(), "", true, nil); err != nil {
				t.Error(err)
			}
		}()
		queue.Leave()
		select {
		case <-came:
		case <-served:
			for range asked { // let those in that wait still
				queue.Leave()
			}
			for _, came := range asked {
				<-came
			}
			return
		}
	}
}

// TestGroupsTakeTurns: of a group with many urgent callers, one goes before the only caller of another group.
func TestGroupsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := admission.NewQueue(1)
		if err := queue.Enter(t.Context(), "many", true, nil); err != nil {
			t.Fatal(err)
		}
		came := make(chan string, 60)
		for range 50 {
			go func() {
				if err := queue.Enter(t.Context(), "many", true, nil); err == nil {
					came <- "many"
				}
			}()
		}
		synctest.Wait()
		go func() {
			if err := queue.Enter(t.Context(), "one", true, nil); err == nil {
				came <- "one"
			}
		}()
		synctest.Wait()
		before := 0
		for {
			queue.Leave()
			if <-came == "one" {
				break
			}
			before++
		}
		if before > 1 {
			t.Errorf("%d callers of the other group went before the one that came last, want at most 1", before)
		}
		for range 50 - before {
			queue.Leave()
			<-came
		}
	})
}

// TestDisplaced: the group with the most callers makes room in a full queue, and the place of the caller that left is not lost.
func TestDisplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := admission.NewQueue(1)
		if err := queue.Enter(t.Context(), "many", true, nil); err != nil {
			t.Fatal(err)
		}
		left := make(chan error, 3)
		for range cap(left) {
			go func() { left <- queue.Enter(t.Context(), "many", true, nil) }()
		}
		synctest.Wait()
		if queue.Displace("many") || !queue.Displace("one") {
			t.Error("the longest group displaced a caller of its own, or kept its callers from another group")
		}
		if err := <-left; !errors.Is(err, admission.ErrDisplaced) {
			t.Errorf("the last caller got %v, want to be displaced", err)
		}
		queue.Leave()
		for range 2 {
			if err := <-left; err != nil {
				t.Error(err)
			}
			queue.Leave()
		}
	})
}
