//go:build long

package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

// soakEnv says for how long TestSoak goes on, such as 30m, in place of soakDefault. Give `go test` a -timeout beyond it.
const (
	soakEnv     = "YURT_SOAK"
	soakDefault = 3 * time.Minute
	soakers     = 8 // clients
)

// Growth that TestSoak allows between the end of its first third and its end: caches and pools of the runtime that are not full yet.
const (
	soakMemory      = 16 << 20
	soakDescriptors = 8
	soakGoroutines  = 8
)

// TestSoak: after a long time of sessions, streams, terminals and files that come and go, the server has the memory, the descriptors
// and the goroutines that it had before.
func TestSoak(t *testing.T) {
	length := soakDefault
	if text := os.Getenv(soakEnv); text != "" {
		given, err := time.ParseDuration(text)
		if err != nil || given < time.Minute {
			t.Fatalf("%s is %q; give a duration of at least a minute, such as 30m", soakEnv, text)
		}
		length = given
	}
	s := serve(t, "--memory-overcommit", "1000")
	client := s.tenant(t, "soaker")
	if _, err := s.admin.SetPool(t.Context(), template, yurt.PoolSize{Min: 4, Max: 4}.Change()); err != nil {
		t.Fatal(err)
	}
	rounds := soak(t, client, length/3)
	before := s.atRest(t, client)
	rounds += soak(t, client, length-length/3)
	after := s.atRest(t, client)
	t.Logf("after a third of %s the server had %s, and after %d rounds %s", length, before, rounds, after)
	if after.memory > before.memory+soakMemory || after.broker > before.broker+soakMemory {
		t.Errorf("the memory of one of them has grown by more than %d MiB", soakMemory>>20)
	}
	if after.descriptors > before.descriptors+soakDescriptors {
		t.Errorf("the descriptors are %d, and were %d", after.descriptors, before.descriptors)
	}
	if after.goroutines > before.goroutines+soakGoroutines {
		t.Errorf("the goroutines are %d, and were %d", after.goroutines, before.goroutines)
	}
}

// soak has clients use the server for a time, and returns how many rounds they made.
func soak(t *testing.T, client *yurtclient.Client, length time.Duration) (rounds int) {
	t.Helper()
	end := time.Now().Add(length)
	made := make(chan int, soakers)
	var using sync.WaitGroup
	for n := range soakers {
		using.Go(func() {
			count := 0
			for ; time.Now().Before(end) && !t.Failed(); count++ {
				if err := use(t.Context(), client, n, count); err != nil {
					t.Errorf("client %d in round %d: %v", n, count, err)
				}
			}
			made <- count
		})
	}
	using.Wait()
	close(made)
	for count := range made {
		rounds += count
	}
	return rounds
}

// use makes a session and uses each kind of connection to it.
func use(ctx context.Context, client *yurtclient.Client, n, round int) (err error) {
	session, err := client.CreateSession(ctx, small())
	if err != nil {
		return err
	}
	defer func() {
		_, ended := client.EndSession(ctx, session.ID)
		err = errors.Join(err, ended)
	}()
	text := fmt.Sprintf("client %d, round %d\n", n, round)
	if _, err := client.PutFile(ctx, session.ID, "text", strings.NewReader(text)); err != nil {
		return err
	}
	var seen strings.Builder
	e, err := client.Start(ctx, session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "cat text"}})
	if err == nil {
		err = client.WatchExecution(ctx, session.ID, e.ID, 0, func(e yurt.Event) error { seen.Write(e.Data); return nil })
	}
	if err != nil || seen.String() != text {
		return errors.Join(err, fmt.Errorf("the stream has %q, want %q", seen.String(), text))
	}
	terminal, err := client.OpenTerminal(ctx, session.ID, yurtclient.TerminalRequest{Command: "exec cat"})
	if err != nil {
		return err
	}
	if round%2 == 0 { // the others leave it to the end of the session
		terminal.Close()
	} else {
		defer terminal.Close()
	}
	watching, leave := context.WithCancel(ctx) // a watcher of files that leaves without a word
	defer leave()
	if err := client.WatchFiles(watching, session.ID, "", true, leave, func(yurt.FileEvent) error { return nil }); watching.Err() == nil {
		return fmt.Errorf("a watch of files ended before its watcher left: %w", err)
	}
	return nil
}

// atRest returns the figures of the server once it has ended what it does for clients that are gone.
func (s *server) atRest(t *testing.T, client *yurtclient.Client) figures {
	t.Helper()
	testutil.Eventually(t, "no session lives", func() bool {
		page, err := client.Sessions(t.Context(), yurtclient.SessionFilter{Live: true})
		return err == nil && len(page.Sessions) == 0
	})
	lowest := s.figures(t)
	for range 20 { // the runtime gives memory back over some seconds
		time.Sleep(time.Second / 2)
		now := s.figures(t)
		lowest = figures{min(lowest.memory, now.memory), min(lowest.broker, now.broker), min(lowest.descriptors, now.descriptors), min(lowest.goroutines, now.goroutines)}
	}
	return lowest
}
