package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

const crowd = 20

const handler = `import json, sys

def handler(event, context):
    with open("mine-%d" % event["n"], "w") as f:
        f.write(str(event["n"]))
    print("out", event["n"])
    print("err", event["n"], file=sys.stderr)
    with open("mine-%d" % event["n"]) as f:
        return {"n": event["n"], "read": int(f.read())}
`

// checkAnswer runs the handler with n and wants everything to be about n.
func checkAnswer(ctx context.Context, client *yurtclient.Client, session string, n int) error {
	execution, err := client.Execute(ctx, session, yurtclient.ExecuteRequest{
		Language: "python", Code: handler, Handler: "handler", Event: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n)),
	})
	if err != nil {
		return err
	}
	result := execution.Result
	var answer struct{ N, Read int }
	if err := json.Unmarshal(result.Result, &answer); err != nil {
		return fmt.Errorf("run %d: %w in %s; %+v", n, err, result.Result, result.Error)
	}
	text := strconv.Itoa(n) + "\n"
	if answer.N != n || answer.Read != n || result.Stdout != "out "+text || result.Stderr != "err "+text {
		return fmt.Errorf("run %d was answered %+v, stdout %q, stderr %q", n, answer, result.Stdout, result.Stderr)
	}
	return nil
}

func TestTwentyClientsOnOneSession(t *testing.T) {
	client := serve(t)
	session := create(t, client, "python-basic")
	group, ctx := errgroup.WithContext(t.Context())
	for i := range crowd {
		group.Go(func() error {
			for j := range 3 {
				if err := checkAnswer(ctx, client, session.ID, i*100+j); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	waitFor(t, client, session.ID, yurt.SessionReady)
}

func TestTwentySessionsAtOnce(t *testing.T) {
	client := serve(t)
	group, ctx := errgroup.WithContext(t.Context())
	for i := range crowd {
		group.Go(func() error {
			session, err := client.CreateSession(ctx, yurtclient.CreateSessionRequest{TemplateID: "python-basic", Mode: yurt.ModePersistent})
			if err != nil {
				return err
			}
			if err := checkAnswer(ctx, client, session.ID, i); err != nil {
				return err
			}
			files, err := client.Execute(ctx, session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"ls"}}})
			if err != nil {
				return err
			}
			if want := fmt.Sprintf("mine-%d\n", i); files.Result.Stdout != want {
				return fmt.Errorf("session %d holds %q, want its own file alone", i, files.Result.Stdout)
			}
			_, err = client.EndSession(ctx, session.ID)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
