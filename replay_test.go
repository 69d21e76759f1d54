package yurt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

// told is an execution as its node tells it: its events, and the result with their outline.
type told struct {
	events []yurt.Event
	result yurt.Result
}

func newTold(events ...yurt.Event) told {
	begin := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	e := told{result: yurt.Result{StartedAt: begin, EndedAt: begin.Add(time.Hour)}}
	var (
		builder yurt.OutlineBuilder
		stdout  strings.Builder
	)
	for i, event := range append([]yurt.Event{{Type: yurt.EventStarted}}, events...) {
		event.Seq, event.At = uint64(i+1), begin.Add(time.Duration(i)*time.Second)
		switch event.Type {
		case yurt.EventStdout:
			stdout.Write(event.Data)
		case yurt.EventStderr:
			e.result.Stderr += string(event.Data)
		case yurt.EventDisplay:
			if event.Display.Main {
				main := len(e.result.Displays)
				e.result.MainDisplay = &main
			}
			if !event.Display.Update {
				e.result.Displays = append(e.result.Displays, event.Display.Data)
			}
		}
		builder.Add(event)
		e.events = append(e.events, event)
	}
	e.result.Stdout = strings.ToValidUTF8(stdout.String(), "\ufffd") // as nodes do
	e.result.Outline = builder.Outline(&e.result)
	e.events = append(e.events, yurt.Event{Seq: uint64(len(e.events) + 1), Type: yurt.EventEnded, At: e.result.EndedAt, Result: &e.result})
	return e
}

func output(kind yurt.EventType, text string) yurt.Event {
	return yurt.Event{Type: kind, Data: []byte(text)}
}

func replay(t *testing.T, result *yurt.Result, after uint64) (events []yurt.Event) {
	t.Helper()
	err := result.Replay(t.Context(), after, func(e yurt.Event) error {
		events = append(events, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// TestReplay: the events that a result is told with are those that there were, after any number.
func TestReplay(t *testing.T) {
	shown := yurt.Display{"text/plain": json.RawMessage(`"42"`)}
	kinds := []yurt.Event{
		output(yurt.EventStdout, "a line\n"), output(yurt.EventStderr, "höre\n"), output(yurt.EventProgress, "installing\n"),
		{Type: yurt.EventDisplay, Display: &yurt.DisplayEvent{Data: shown}},
		{Type: yurt.EventDisplay, Display: &yurt.DisplayEvent{Data: shown, Main: true}},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var events []yurt.Event
		for range random.IntN(20) {
			events = append(events, kinds[random.IntN(len(kinds)-1)])
		}
		e := newTold(append(events, kinds[len(kinds)-1])...)
		// Nodes and stores keep it as JSON.
		data, err := json.Marshal(e.result.Kept())
		if err != nil {
			t.Fatal(err)
		}
		var kept yurt.KeptResult
		if err := json.Unmarshal(data, &kept); err != nil {
			t.Fatal(err)
		}
		result := kept.Take()
		e.events[len(e.events)-1].Result = result
		for after := range e.events {
			if got := replay(t, result, uint64(after)); !reflect.DeepEqual(got, e.events[after:]) {
				t.Fatalf("after event %d of %v come %v", after, e.events, got)
			}
		}
		if got := replay(t, result, uint64(len(e.events)+5)); len(got) != 1 || got[0].Seq != uint64(len(e.events)) {
			t.Errorf("after the end comes %v", got)
		}
	}
}

// TestReplayGap: events that a result has not kept are reported as missing, with their numbers and
// bytes.
func TestReplayGap(t *testing.T) {
	tests := []struct {
		name   string
		events []yurt.Event
		after  uint64
		want   string // without started and ended
	}{
		{"bytes that are no text", []yurt.Event{
			output(yurt.EventStdout, "a\xff"), output(yurt.EventStderr, "err"), output(yurt.EventStdout, "bc"),
		}, 0, "2 gap 2-2 stdout 0-2; 3 stderr err; 4 stdout bc"},
		{"a character in two pieces", []yurt.Event{
			output(yurt.EventStdout, "\xc3"), output(yurt.EventStdout, "\xa4"), output(yurt.EventStdout, "ö"),
		}, 2, "3 gap 3-3 stdout 1-2; 4 stdout ö"},
		{"bytes that are no text, in a row", []yurt.Event{
			output(yurt.EventStdout, "\xff\xfe"), output(yurt.EventStdout, "\xff"), output(yurt.EventStdout, "b"),
		}, 0, "3 gap 2-3 stdout 0-3; 4 stdout b"},
		{"pieces of a response", []yurt.Event{
			output(yurt.EventResponse, "one"), output(yurt.EventResponse, "two"), output(yurt.EventStdout, "log"),
		}, 0, "3 gap 2-3; 4 stdout log"},
		{"pieces of a response that were seen", []yurt.Event{
			output(yurt.EventResponse, "one"), output(yurt.EventResponse, "two"), output(yurt.EventStdout, "log"),
		}, 2, "3 gap 3-3; 4 stdout log"},
		{"displays that were updated", []yurt.Event{
			{Type: yurt.EventDisplay, Display: &yurt.DisplayEvent{ID: "a"}}, {Type: yurt.EventDisplay, Display: &yurt.DisplayEvent{ID: "a", Update: true}},
		}, 0, "3 gap 2-3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newTold(tt.events...)
			var list []string
			for _, event := range replay(t, &e.result, tt.after) {
				if event.Type == yurt.EventStarted || event.Type == yurt.EventEnded {
					continue
				}
				text := string(event.Data)
				if event.Gap != nil {
					text = describe(*event.Gap)
				}
				list = append(list, fmt.Sprintf("%d %s %s", event.Seq, event.Type, text))
			}
			if got := strings.Join(list, "; "); got != tt.want {
				t.Errorf("told %q, want %q", got, tt.want)
			}
		})
	}
}

func describe(gap yurt.Gap) string {
	text := fmt.Sprintf("%d-%d", gap.From, gap.To)
	for _, s := range []struct {
		name string
		span *yurt.ByteRange
	}{{"stdout", gap.Stdout}, {"stderr", gap.Stderr}} {
		if s.span != nil {
			text += fmt.Sprintf(" %s %d-%d", s.name, s.span.From, s.span.To)
		}
	}
	return text
}

// TestOutlineIsBounded: of an execution with very many events the first can be told, and of the
// others how many there were.
func TestOutlineIsBounded(t *testing.T) {
	const pieces = 100_000
	events := make([]yurt.Event, pieces)
	for i := range events {
		events[i] = output(yurt.EventStdout, "ab")
	}
	e := newTold(events...)
	if size := len(e.result.Outline); size > yurt.MaxOutlineBytes {
		t.Errorf("the outline has %d bytes, more than %d", size, yurt.MaxOutlineBytes)
	}
	got := replay(t, &e.result, 0)
	gap, ended := got[len(got)-2], got[len(got)-1]
	first := uint64(len(got) - 1)
	if gap.Type != yurt.EventGap || gap.Gap.From != first || gap.Gap.To != pieces+1 || *gap.Gap.Stdout != (yurt.ByteRange{From: 2 * int64(first-2), To: 2 * pieces}) || ended.Seq != pieces+2 {
		t.Errorf("it ends with %+v %s, and then %d; %d events come before", gap, describe(*gap.Gap), ended.Seq, len(got)-2)
	}
	if len(got) < 10_000 {
		t.Errorf("only %d events could be told", len(got))
	}
}

// FuzzReplay: a damaged outline is an error or replays other events; it never panics or exceeds its
// bounds.
func FuzzReplay(f *testing.F) {
	e := newTold(output(yurt.EventStdout, "out"), output(yurt.EventProgress, "more"), output(yurt.EventResponse, "x"))
	f.Add([]byte(e.result.Outline), uint64(1))
	f.Add([]byte{0xff, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, uint64(0))
	f.Fuzz(func(t *testing.T, outline []byte, after uint64) {
		result := e.result
		result.Outline = outline
		enough := errors.New("enough")
		told := 0
		err := result.Replay(t.Context(), after, func(yurt.Event) error {
			if told++; told > len(outline)+2 {
				t.Fatalf("an outline of %d bytes tells of %d events", len(outline), told)
			}
			if told > 1000 {
				return enough
			}
			return nil
		})
		if err == nil && len(outline) == 0 {
			t.Error("it needs no outline")
		}
	})
}
