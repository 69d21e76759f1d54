package yurt_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

func TestTakeEventTimeout(t *testing.T) {
	tests := []struct {
		name, event string
		want        time.Duration
		wantEvent   string
		code        yurt.Code
	}{
		{name: "none", event: `{"a":1}`, want: time.Minute, wantEvent: `{"a":1}`},
		{name: "seconds", event: `{"a":1,"__timeout":2,"b":[1.50, 2]}`, want: 2 * time.Second, wantEvent: `{"a":1,"b":[1.50, 2]}`},
		{name: "text", event: ` {"__timeout":"1m30s"} `, want: 90 * time.Second, wantEvent: `{}`},
		{name: "escaped key", event: `{"\u005f_timeout":3}`, want: 3 * time.Second, wantEvent: `{}`},
		{name: "the last one wins", event: `{"__timeout":3,"__timeout":4}`, want: 4 * time.Second, wantEvent: `{}`},
		{name: "nested is business data", event: `{"a":{"__timeout":3}}`, want: time.Minute, wantEvent: `{"a":{"__timeout":3}}`},
		{name: "an array is left alone", event: `["__timeout"]`, want: time.Minute, wantEvent: `["__timeout"]`},
		{name: "no event", event: ``, want: time.Minute, wantEvent: ``},
		{name: "zero", event: `{"__timeout":0}`, code: yurt.CodeLimitOutOfRange},
		{name: "negative", event: `{"__timeout":-1}`, code: yurt.CodeLimitOutOfRange},
		{name: "beyond the bound", event: `{"__timeout":3601}`, code: yurt.CodeLimitOutOfRange},
		{name: "absurd", event: `{"__timeout":1e999}`, code: yurt.CodeLimitOutOfRange},
		{name: "not a duration", event: `{"__timeout":"soon"}`, code: yurt.CodeInvalidArgument},
		{name: "an object", event: `{"__timeout":{}}`, code: yurt.CodeInvalidArgument},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := yurt.ExecutionSpec{Event: []byte(test.event), Timeout: yurt.Duration(time.Minute)}
			err := spec.TakeEventTimeout()
			if code := yurt.CodeOf(err); code != test.code {
				t.Fatalf("error %v has code %q, want %q", err, code, test.code)
			}
			if err != nil {
				if string(spec.Event) != test.event || spec.Timeout.Std() != time.Minute {
					t.Error("the spec changed although the call failed")
				}
				return
			}
			if spec.Timeout.Std() != test.want {
				t.Errorf("timeout %s, want %s", spec.Timeout, test.want)
			}
			if string(spec.Event) != test.wantEvent {
				t.Errorf("event %s, want %s", spec.Event, test.wantEvent)
			}
		})
	}
}

func FuzzTakeEventTimeout(f *testing.F) {
	for _, seed := range []string{`{}`, `{"__timeout":1}`, `{"a":"\u005f","__timeout":"1s"}`, `[`, `{"__timeout"`, `{"a":1}{"b":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		spec := yurt.ExecutionSpec{Event: bytes.Clone(event), Timeout: yurt.Duration(time.Minute)}
		if err := spec.TakeEventTimeout(); err != nil || !json.Valid(event) {
			return
		}
		if !json.Valid(spec.Event) {
			t.Fatalf("valid event %q became invalid %q", event, spec.Event)
		}
		var members map[string]any
		if json.Unmarshal(spec.Event, &members) == nil {
			if _, ok := members[yurt.EventTimeoutKey]; ok {
				t.Fatalf("%q still holds the timeout", spec.Event)
			}
		}
	})
}
