package turns_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/yurtrun/yurt/executor/turns"
)

// TestUrgentTurnsComeFirst: who is waited for finds a turn free whatever the others do,
// and goes before them; a turn that nobody wants any more is the next one's.
func TestUrgentTurnsComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := turns.New(4)
		var order []string
		came := make(chan string, 10)
		want := func(name string, ctx context.Context, urgent bool) {
			go func() {
				if err := queue.Take(ctx, urgent, nil); err != nil {
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
		queue.Give()
		check("after one was given", "u4")
		queue.Give()
		queue.Give()
		check("as long as the urgent may come")
		queue.Give()
		check("after that", "p3")
		queue.Give()
		queue.Give()
		check("in the end", "p4")
	})
}

// TestWhoIsHurriedIsUrgent: who was patient goes before others who are, once somebody waits.
func TestWhoIsHurriedIsUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := turns.New(2)
		came := make(chan string, 4)
		hurry := make(chan struct{})
		take := func(name string, hurry <-chan struct{}) {
			go func() {
				if err := queue.Take(t.Context(), false, hurry); err != nil {
					t.Error(err)
				}
				came <- name
			}()
			synctest.Wait()
		}
		take("first", nil) // the other turn is for who is urgent
		take("second", nil)
		take("third", hurry)
		if len(came) != 1 {
			t.Fatalf("%d have a turn", len(came))
		}
		<-came
		close(hurry)
		if name := <-came; name != "third" {
			t.Errorf("it was the turn of the %s", name)
		}
		queue.Give()
		queue.Give()
		if name := <-came; name != "second" {
			t.Errorf("then it was the turn of the %s", name)
		}
	})
}

// TestThePatientAreServed although there is always somebody urgent.
func TestThePatientAreServed(t *testing.T) {
	queue := turns.New(2)
	served := make(chan struct{})
	for range 2 {
		if err := queue.Take(t.Context(), true, nil); err != nil {
			t.Fatal(err)
		}
	}
	waiting := make(chan struct{})
	var asked []chan struct{}
	go func() {
		defer close(served)
		close(waiting)
		if err := queue.Take(t.Context(), false, nil); err != nil {
			t.Error(err)
		}
	}()
	<-waiting
	for {
		came := make(chan struct{})
		asked = append(asked, came)
		go func() {
			defer close(came)
			if err := queue.Take(t.Context(), true, nil); err != nil {
				t.Error(err)
			}
		}()
		queue.Give()
		select {
		case <-came:
		case <-served:
			for range asked { // let those in that wait still
				queue.Give()
			}
			for _, came := range asked {
				<-came
			}
			return
		}
	}
}
