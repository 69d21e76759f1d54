package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// TestPhasesAhead: the first event of an execution says whether its code is compiled first.
func TestPhasesAhead(t *testing.T) {
	t.Parallel()
	needsSandboxes(t)
	client := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, tt := range []struct {
		template string
		req      yurtclient.ExecuteRequest
		want     []yurt.Phase
	}{
		{"c-basic", yurtclient.ExecuteRequest{Code: "int main(void) { return 0; }"}, []yurt.Phase{yurt.PhaseCompile}},
		{"c-basic", yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"true"}}}, nil},
	} {
		session := create(t, client, tt.template)
		var got []yurt.Phase
		_, err := client.ExecuteStream(ctx, session.ID, tt.req, func(event yurt.Event) error {
			if event.Type == yurt.EventStarted {
				got = event.Phases
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v has the phases %v ahead, want %v", tt.req, got, tt.want)
		}
	}
}
