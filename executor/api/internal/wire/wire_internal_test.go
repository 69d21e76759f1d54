package wire

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/proto"
)

func TestErrorsComeBackAsTheyWere(t *testing.T) {
	for _, code := range yurt.Codes() {
		sent := yurt.FieldErrorf(code, "resources.memory", "%d is too much; give less", 7)
		sent.RetryAfter = 1500 * time.Millisecond
		for name, err := range map[string]error{"bare": sent, "wrapped": fmt.Errorf("creating: %w", sent)} {
			var got *yurt.Error
			if !errors.As(DecodeError(t.Context(), EncodeError(err)), &got) {
				t.Fatalf("%s: it came as none", code)
			}
			if got.Code != code || got.Field != sent.Field || got.RetryAfter != sent.RetryAfter || !strings.Contains(got.Message, "7 is too much; give less") {
				t.Errorf("%s, %s: it came as %+v", code, name, got)
			}
			if name == "bare" && got.Message != sent.Message {
				t.Errorf("%s: the message became %q", code, got.Message)
			}
		}
	}
}

func TestErrorsThatHaveNoCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want yurt.Code
	}{
		{errors.New("no \xff text"), yurt.CodeInternal},
		{context.Canceled, yurt.CodeCanceled},
		{fmt.Errorf("waiting: %w", context.DeadlineExceeded), yurt.CodeDeadlineExceeded},
		{errors.New(strings.Repeat("long", maxErrorText)), yurt.CodeInternal},
	} {
		if got := yurt.CodeOf(DecodeError(t.Context(), EncodeError(tt.err))); got != tt.want {
			t.Errorf("%.40q came as %q, want %q", tt.err, got, tt.want)
		}
	}
	closing := status.Error(codes.Canceled, "grpc: the client connection is closing")
	if err := DecodeError(t.Context(), closing); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("that the connection was closed came as %v", err)
	}
	newer := decodeError(&proto.Error{Code: "of_tomorrow", Message: "m"})
	if yurt.CodeOf(newer) != yurt.CodeInternal || newer.Error() != "m" {
		t.Errorf("a code that is not known came as %v", newer)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := DecodeError(ended, EncodeError(errors.New("something"))); !errors.Is(err, context.Canceled) {
		t.Errorf("what the caller gave up came as %v", err)
	}
}

// Every field of the domain's values comes over, also those that are added later. Two are left out:
// the name that a template extends is the controller's alone, and an outline goes along with a
// result as [yurt.KeptResult].
func TestValuesComeBackAsTheyWere(t *testing.T) {
	apart := cmp.Options{cmpopts.IgnoreFields(yurt.Template{}, "Extends"), cmpopts.IgnoreFields(yurt.Result{}, "Outline")}
	for _, value := range []any{new(yurt.SandboxSpec), new(yurt.ExecutionSpec), new(yurt.TerminalSize), new(yurt.Template), new(yurt.Question)} {
		fill(reflect.ValueOf(value).Elem(), 1)
		data, err := Encode(value)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(value).Elem()).Interface()
		if err := DecodeRequest(data, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(value, got, apart); diff != "" {
			t.Errorf("%T: %s", value, diff)
		}
	}
	for _, value := range []any{new(yurt.Sandbox), new(yurt.Result), new(yurt.KeptResult), new(yurt.RuntimeInfo), new(yurt.FileInfo), new(yurt.Process), new(yurt.Reserve), new(yurt.Context), new(yurt.SandboxStats), new(yurt.SandboxHealth), new(yurt.FileList), new(yurt.FileEvent), new(yurt.Unpacked), new(yurt.Answer)} {
		fill(reflect.ValueOf(value).Elem(), 1)
		data, err := Encode(value)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(value).Elem()).Interface()
		if err := DecodeAnswer(data, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(value, got, apart); diff != "" {
			t.Errorf("%T: %s", value, diff)
		}
	}
}

// fill gives every field below v a value that is not its zero.
func fill(v reflect.Value, n int) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(int64(n), 5).UTC()))
		return
	case v.Type().String() == "json.RawMessage":
		v.SetBytes([]byte(`{"<&>":1}`))
		return
	case v.Type() == reflect.TypeFor[*yurt.Output]():
		return // its sizes go, with a KeptResult
	}
	if v.Type() == reflect.TypeFor[yurt.FileMode]() {
		v.SetUint(0o751) // no others have text
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n+i)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n+i)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n+i)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(fmt.Sprintf("<text> & %d", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(n) + 0.25)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(n))
	default:
		v.SetInt(int64(n))
	}
}

func TestEventsComeBackAsTheyWere(t *testing.T) {
	large := strings.Repeat("\x00line <&>\n", 2*MaxPart/10)
	for _, sent := range []yurt.Event{
		{Seq: 1, Type: yurt.EventStarted, At: time.Unix(1, 2).UTC()},
		{Seq: 2, Type: yurt.EventStdout, At: time.Unix(1, 2).UTC(), Data: []byte("small")},
		{Seq: 3, Type: yurt.EventStderr, At: time.Unix(1, 2).UTC(), Data: []byte(large)},
		{Seq: 4, Type: yurt.EventEnded, At: time.Unix(1, 2).UTC(), Result: &yurt.Result{Stdout: large, Result: []byte("1"), Artifacts: []yurt.Artifact{}}},
		{Seq: 5, Type: yurt.EventEnded, At: time.Unix(1, 2).UTC(), Data: []byte(large), Result: &yurt.Result{Stdout: large, Result: []byte("{}")}},
	} {
		var messages []*proto.WatchExecutionResponse
		if err := SendEvent(sent, func(m *proto.WatchExecutionResponse) error {
			if size := len(m.GetEvent()) + len(m.GetData()); size > MaxPart {
				t.Errorf("a message has %d bytes", size)
			}
			messages = append(messages, m)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		assembler := Assembler{}
		var got []yurt.Event
		for _, m := range messages {
			if err := assembler.Add(m, func(e yurt.Event) error { got = append(got, e); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) != 1 || !cmp.Equal(got[0], sent) {
			t.Errorf("event %d came as %d events", sent.Seq, len(got))
		}
	}
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	for _, data := range []string{`{"id":"sbx_1","isolation_strict":true}`, `{"id":1}`, `{"id":"a"} {}`, `{`, ``} {
		var spec yurt.SandboxSpec
		if err := DecodeRequest([]byte(data), &spec); yurt.CodeOf(err) != yurt.CodeMalformedBody {
			t.Errorf("%s: %v", data, err)
		}
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"id":"sbx_1","template":{"name":"a","rootfs":{"host_paths":["/usr"]},"env":{"A":"b"}},"resources":{"cpu":1.5,"memory":"512Mi"}}`))
	f.Add([]byte(`{"id":"exe_1","kind":"command","command":["a"],"stdin":"AA==","timeout":"1h","event":{"a":[null]}}`))
	f.Add([]byte(`{"timeout":1e400}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var sandbox yurt.SandboxSpec
		if DecodeRequest(data, &sandbox) == nil {
			if _, err := Encode(sandbox); err != nil {
				t.Errorf("what was read cannot be written: %v", err)
			}
		}
		var execution yurt.ExecutionSpec
		if DecodeRequest(data, &execution) == nil && execution.Validate() == nil {
			if _, err := Encode(execution); err != nil {
				t.Errorf("what was read cannot be written: %v", err)
			}
		}
	})
}
