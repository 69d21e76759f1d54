package python_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/python"
)

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*plugins.PlanRequest)
		code   yurt.Code
		field  string
	}{
		"kind":                  {func(r *plugins.PlanRequest) { r.Kind = yurt.KindCommand }, yurt.CodeNotSupported, "kind"},
		"event is not JSON":     {func(r *plugins.PlanRequest) { r.Event = []byte(`{"a":`) }, yurt.CodeInvalidArgument, "event"},
		"event has a tail":      {func(r *plugins.PlanRequest) { r.Event = []byte(`{} {}`) }, yurt.CodeInvalidArgument, "event"},
		"event is not a number": {func(r *plugins.PlanRequest) { r.Event = []byte(`NaN`) }, yurt.CodeInvalidArgument, "event"},
		"event is not UTF-8":    {func(r *plugins.PlanRequest) { r.Event = []byte("\"\xff\"") }, yurt.CodeInvalidArgument, "event"},
		"context is a list":     {func(r *plugins.PlanRequest) { r.Context = []byte(`[]`) }, yurt.CodeInvalidArgument, "context"},
		"context is not UTF-8":  {func(r *plugins.PlanRequest) { r.Context = []byte("{\"a\":\"\xff\"}") }, yurt.CodeInvalidArgument, "context"},
		"method": {
			func(r *plugins.PlanRequest) { r.Context = []byte(`{"get_remaining_time_in_millis":1}`) },
			yurt.CodeInvalidArgument, "context.get_remaining_time_in_millis",
		},
		"private": {func(r *plugins.PlanRequest) { r.Context = []byte(`{"__class__":1}`) }, yurt.CodeInvalidArgument, "context.__class__"},
		"identity": {
			func(r *plugins.PlanRequest) { r.Context = []byte(`{"identity":[1]}`) }, yurt.CodeInvalidArgument, "context.identity",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := handler("def handler(e): pass", `{}`)
			req.Dir = "/run/x"
			tt.change(&req)
			_, err := python.Runtime{}.Plan(t.Context(), req)
			var coded *yurt.Error
			if !errors.As(err, &coded) || coded.Code != tt.code || coded.Field != tt.field {
				t.Errorf("error %v, want code %s about %s", err, tt.code, tt.field)
			}
		})
	}
}

// TestPlanIsPure checks that equal requests have equal plans.
func TestPlanIsPure(t *testing.T) {
	t.Parallel()
	req := handler("def handler(e): pass", `{"a":1}`)
	req.Dir = "/run/x"
	req.Context = []byte(`{"a":1,"b":2,"c":3}`)
	first, err := python.Runtime{}.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	second, err := python.Runtime{}.Plan(t.Context(), req)
	if err != nil || !reflect.DeepEqual(first, second) {
		t.Errorf("plans differ: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	info, err := python.Runtime{}.Describe(t.Context())
	if err != nil || info.Name != "python" || !strings.Contains(strings.Join(info.Languages, " "), "py") {
		t.Errorf("got %+v, %v", info, err)
	}
}

// FuzzEvent plans with any event and runs no plan: an accepted event must give a valid plan whose
// specification holds the event unchanged.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{``, `{}`, `[1,2]`, `"\ud800"`, "\"\xff\"", `{"a":{"b":[null]}}`, `1e999`, ` 1 `, `<script>`} {
		f.Add([]byte(seed), []byte(`{"function_name":"f"}`))
	}
	f.Fuzz(func(t *testing.T, event, context []byte) {
		req := handler("def handler(e): pass", string(event))
		req.Dir, req.Context = "/run/x", context
		plan, err := python.Runtime{}.Plan(t.Context(), req)
		if err != nil {
			if yurt.CodeOf(err) != yurt.CodeInvalidArgument {
				t.Errorf("error %v", err)
			}
			return
		}
		if err := plan.Validate(); err != nil {
			t.Error(err)
		}
		if !bytes.Contains(plan.Files[3].Data, []byte(`"event":`)) {
			t.Errorf("specification %s", plan.Files[3].Data)
		}
	})
}
