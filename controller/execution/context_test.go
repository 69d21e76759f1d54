package execution

import (
	"testing"

	"github.com/yurtrun/yurt"
)

// TestWhatKeepsState: in a persistent session, code without a context runs in the default one, and handlers may stay
// warm; in an ephemeral session, and for a project, no state lasts.
func TestWhatKeepsState(t *testing.T) {
	none := ""
	for name, tt := range map[string]struct {
		mode     yurt.Mode
		spec     yurt.ExecutionSpec
		given    *string
		context  string
		optional bool
	}{
		"code":                 {yurt.ModePersistent, yurt.ExecutionSpec{Kind: yurt.KindCode}, nil, yurt.DefaultContext, true},
		"code without context": {yurt.ModePersistent, yurt.ExecutionSpec{Kind: yurt.KindCode}, &none, "", false},
		"code, ephemeral":      {yurt.ModeEphemeral, yurt.ExecutionSpec{Kind: yurt.KindCode}, nil, "", false},
		"project":              {yurt.ModePersistent, yurt.ExecutionSpec{Kind: yurt.KindCode, Entry: "main.py"}, nil, "", false},
		"command":              {yurt.ModePersistent, yurt.ExecutionSpec{Kind: yurt.KindCommand}, nil, "", false},
		"handler":              {yurt.ModePersistent, yurt.ExecutionSpec{Kind: yurt.KindHandler}, nil, "", true},
		"handler, ephemeral":   {yurt.ModeEphemeral, yurt.ExecutionSpec{Kind: yurt.KindHandler}, nil, "", false},
	} {
		err := setContext(&tt.spec, yurt.Session{Mode: tt.mode}, Request{ContextName: tt.given})
		if err != nil || tt.spec.ContextName != tt.context || tt.spec.ContextOptional != tt.optional {
			t.Errorf("%s: context %q, optional: %t, %v; want %q, %t", name, tt.spec.ContextName, tt.spec.ContextOptional, err, tt.context, tt.optional)
		}
	}
}
