package testutil

import (
	"context"
	"testing"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/contract"
	"github.com/yurtrun/yurt/test/devserver"
)

// Serve runs "yurt dev" of the program that [BuildYurt] made, for as long as the test, and returns
// where it listens and a client of it.
func Serve(t testing.TB, program string) (url string, client *yurtclient.Client) {
	t.Helper()
	server, err := devserver.Start(context.WithoutCancel(t.Context()), program, t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server.URL, contract.Client(t, server.URL)
}
