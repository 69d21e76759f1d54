// Command golocal uses a server of its own by the Go SDK, and ends as YURT_END says: by a word, at the end of the program, or killed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func main() {
	if err := run(context.Background(), os.Getenv("YURT_END")); err != nil {
		var coded *yurt.Error
		if !errors.As(err, &coded) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("refused:", coded.Field)
	}
}

func run(ctx context.Context, end string) error {
	client, stop, err := yurtclient.Local(ctx, yurtclient.WithPatience(100*time.Millisecond))
	if err != nil {
		return err
	}
	box, err := client.Create(ctx, yurtclient.CreateSessionRequest{})
	if err != nil {
		return err
	}
	result, err := box.RunCommand(ctx, "echo hello")
	if err != nil {
		return err
	}
	fmt.Print(result.Stdout)
	switch end {
	case "kill":
		if err := stop(); err != nil {
			return err
		}
		if _, err := client.Version(ctx); yurt.CodeOf(err) != yurt.CodeUnavailable {
			fmt.Println("the server is still there:", err)
		}
	case "crash":
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return self.Kill()
	}
	return nil
}
