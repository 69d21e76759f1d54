package protocol_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/kernel/internal/protocol"
)

const someID = "exe_abcdefghijklmnopqrstuvwxyz"

// FuzzMessages feeds a kernel's output in two pieces: wherever it is cut, the same messages come of it, and each is
// within its bounds.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"id":"` + someID + `","done":{"exit_code":0,"envelope":{"result":2}}}` + "\n",
		`{"id":"` + someID + `","done":{"exit_code":300,"exiting":true,"envelope":{"error":{"type":"SandboxLost","message":"m","stacktrace":["a"]}}}}` + "\n",
		`{"id":"` + someID + `","display":{"data":{"text/plain":"2","application/json":{"a":[1]}},"main":true,"display_id":"x","update":true}}` + "\n",
		`{"id":"` + someID + `","done":{"execution_count":7,"envelope":{"result":null}}}` + "\n",
		`{"id":"` + someID + `","done":{"execution_count":-1}}` + "\n", `{"id":"` + someID + `","done":{"execution_count":1e9}}` + "\n",
		`{"id":"` + someID + `","response":"aGVsbG8="}` + "\n", `{"id":"` + someID + `","response":"?","done":{}}` + "\n",
		`{"id":"` + someID + `","display":{"data":{},"clear":true}}` + "\n", `{"id":"` + someID + `","display":{"data":{"a/b":1},"clear":true,"cut":true}}` + "\n",
		`{"id":"` + someID + `","display":{"data":{}}}` + "\n", `{"id":"x","done":{}}` + "\n", "\n", "{", "\xff\n", `null` + "\n",
	} {
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		cut := 0
		if len(data) > 0 {
			cut = max(at, -at, 0) % len(data)
		}
		whole, wholeErr := messages(data)
		pieces, piecesErr := messages(data[:cut], data[cut:])
		if (wholeErr == nil) != (piecesErr == nil) || !bytes.Equal(whole, pieces) {
			t.Fatalf("whole: %s, %v\nin pieces: %s, %v", whole, wholeErr, pieces, piecesErr)
		}
	})
}

func messages(pieces ...[]byte) ([]byte, error) {
	var lines protocol.Lines
	var all []protocol.Message
	for _, piece := range pieces {
		if err := lines.Take(piece, func(m protocol.Message) {
			if !yurt.ValidID(yurt.ExecutionIDPrefix, m.ID) || (m.Done == nil) == (m.Display == nil && len(m.Response) == 0) || m.Display != nil && len(m.Response) > 0 || m.Done != nil && m.Done.ExitCode>>8 != 0 || m.Done != nil && (m.Done.Count < 0 || m.Done.Count > 1<<31-1) {
				panic(m)
			}
			all = append(all, m)
		}); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return data, nil
}

// FuzzMarks feeds output in two pieces: wherever it is cut, the same text and the same marks come of it, and only
// whole marks are removed.
func FuzzMarks(f *testing.F) {
	mark := protocol.Mark(someID)
	for _, seed := range []string{"", "text", "a" + mark + "b", mark + mark, mark[:10], "\x1eyurt:\x1e", "\x1e\x1e" + mark, "\x1eyurt:" + strings.Repeat("a", 200)} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		cut := 0
		if len(data) > 0 {
			cut = max(at, -at, 0) % len(data)
		}
		text, marks := protocol.Scan(data)
		textInPieces, marksInPieces := protocol.Scan(data[:cut], data[cut:])
		if text != textInPieces || strings.Join(marks, " ") != strings.Join(marksInPieces, " ") {
			t.Fatalf("whole: %q %q, in pieces: %q %q", text, marks, textInPieces, marksInPieces)
		}
		size := len(text)
		for _, id := range marks {
			size += len(protocol.Mark(id))
		}
		if size != len(data) {
			t.Fatalf("%d bytes became %d", len(data), size)
		}
	})
}

func TestDisplaysAreBounded(t *testing.T) {
	var displays protocol.Displays
	show := func(id string, update bool, value string) {
		displays.Add(yurt.DisplayEvent{Data: yurt.Display{"text/plain": json.RawMessage(value)}, ID: id, Update: update})
	}
	show("a", false, `"1"`)
	show("", false, `"2"`)
	show("a", true, `"3"`)
	show("b", true, `"4"`) // of an earlier execution
	if got, err := json.Marshal(displays.List); err != nil || string(got) != `[{"text/plain":"3"},{"text/plain":"2"},{"text/plain":"4"}]` || displays.Cut {
		t.Errorf("%s, %v", got, err)
	}
	displays.Add(yurt.DisplayEvent{Clear: true})
	show("a", true, `"6"`)
	displays.Add(yurt.DisplayEvent{Data: yurt.Display{"text/plain": json.RawMessage(`"7"`)}, Main: true})
	if got, err := json.Marshal(displays.List); err != nil || string(got) != `[{"text/plain":"6"},{"text/plain":"7"}]` || *displays.Main != 1 || displays.Cut {
		t.Errorf("what comes after a clearing: %s, %v", got, err)
	}
	displays.Add(yurt.DisplayEvent{Data: yurt.Display{"text/plain": json.RawMessage(`"8"`)}, Clear: true, Cut: true})
	if got, err := json.Marshal(displays.List); err != nil || string(got) != `[{"text/plain":"8"}]` || displays.Main != nil || !displays.Cut {
		t.Errorf("what clears and is cut: %s, %v, main %v, cut %t", got, err, displays.Main, displays.Cut)
	}
	displays = protocol.Displays{}
	for range yurt.MaxDisplays + 1 {
		show("", false, `"5"`)
	}
	if len(displays.List) != yurt.MaxDisplays || !displays.Cut {
		t.Errorf("%d displays, cut: %t", len(displays.List), displays.Cut)
	}
	displays = protocol.Displays{}
	show("", false, `"`+strings.Repeat("a", yurt.MaxDisplayBytes)+`"`)
	if len(displays.List) != 0 || !displays.Cut {
		t.Error("a display beyond the bound was kept")
	}
}

func TestRequests(t *testing.T) {
	short := protocol.NewRequest(yurt.ExecutionSpec{ID: someID, Code: "a < \"b\"\n", Env: map[string]string{"A": "1"}, Stdin: []byte("x")})
	line, fits, err := short.Encode()
	if want := `{"id":"` + someID + `","stdin":"eA==","env":["A=1"],"code":"a < \"b\"\n"}` + "\n"; err != nil || !fits || string(line) != want {
		t.Errorf("%q, %t, %v; want %q", line, fits, err, want)
	}
	long := protocol.NewRequest(yurt.ExecutionSpec{ID: someID, Code: strings.Repeat("a", protocol.MaxLine)})
	if _, fits, err := long.Encode(); err != nil || fits {
		t.Errorf("a request longer than a pipe takes in one piece is said to fit: %v", err)
	}
}

// TestSkip: skipped input is not parsed, wherever it is cut, and a message that begins afterwards is.
func TestSkip(t *testing.T) {
	skipped, line := "{nonsense\nand more", `{"id":"`+someID+`","done":{"exit_code":7}}`+"\n"
	for cut := range len(skipped) {
		var lines protocol.Lines
		for _, piece := range []string{skipped[:cut], skipped[cut:], "\n" + line[:9]} {
			if err := lines.Skip([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		took := 0
		err := lines.Take([]byte(line[9:]), func(m protocol.Message) { took += m.Done.ExitCode })
		if err != nil || took != 7 {
			t.Errorf("cut at %d: took %d, %v", cut, took, err)
		}
	}
	var lines protocol.Lines
	if err := lines.Skip(make([]byte, protocol.MaxMessage)); err != nil {
		t.Error(err)
	}
	if err := lines.Skip(make([]byte, 1)); err == nil {
		t.Error("a line without an end is held")
	}
}
