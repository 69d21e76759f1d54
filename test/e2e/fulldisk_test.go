package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/smalldisk"
)

// TestFullDisk fills the disk of a server: no new work begins, with the cause in the answer and no path of the host;
// a program goes on to its end; sessions can be ended; and the server is ready again within five seconds of there
// being room.
func TestFullDisk(t *testing.T) {
	needsSandboxes(t)
	disk := smalldisk.Ext4(t, 48<<20)
	server := start(t, disk.Dir+"/state")
	client := connect(t, server)
	busy, idle := create(t, client, "shell-basic"), create(t, client, "shell-basic")
	results := make(chan *yurt.Result, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		defer close(results)
		line := "touch begun; while ! [ -e go ]; do sleep 0.02; done; yes | head -c 1000000; exit 7"
		execution, err := client.Execute(ctx, busy.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: line}})
		if err != nil {
			t.Error(err)
			return
		}
		results <- execution.Result
	}()
	for t.Context().Err() == nil {
		if _, err := client.StatFile(t.Context(), busy.ID, "begun"); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	disk.Fill()

	_, createErr := client.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "shell-basic", Mode: yurt.ModePersistent})
	_, executeErr := client.Execute(t.Context(), idle.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "true"}})
	_, pauseErr := client.PauseSession(t.Context(), idle.ID)
	for what, err := range map[string]error{"create": createErr, "execute": executeErr, "pause": pauseErr, "ready": client.Ready(t.Context())} {
		want := yurt.CodeDiskFull
		if what == "ready" {
			want = yurt.CodeUnavailable
		}
		if yurt.CodeOf(err) != want || !strings.Contains(err.Error(), "is full") || strings.Contains(err.Error(), disk.Dir) {
			t.Errorf("%s: error %v with code %s, want %s", what, err, yurt.CodeOf(err), want)
		}
	}
	if _, err := client.WriteFile(t.Context(), busy.ID, "go", strings.NewReader(""), yurt.WriteOptions{}); err != nil {
		t.Error(err)
	}
	if r := <-results; r == nil || r.ExitCode != 7 || r.Error != nil || !r.Truncated.Stdout || r.Metrics.StdoutBytes != 1_000_000 {
		t.Errorf("the program ended with %+v", r)
	}
	for _, session := range []yurt.Session{idle, busy} {
		if ended, err := client.EndSession(t.Context(), session.ID); err != nil || ended.State != yurt.SessionTerminated {
			t.Errorf("ending a session: %s, %v", ended.State, err)
		}
	}
	disk.Free()
	for since := time.Now(); client.Ready(t.Context()) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Since(since) > 5*time.Second {
			t.Fatalf("it is still not ready: %v", client.Ready(t.Context()))
		}
	}
	shell(t, client, create(t, client, "shell-basic").ID, "true")
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, disk.Dir+"/state")
}
