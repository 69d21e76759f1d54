package yurtclient_test

import (
	"context"
	"fmt"
	"log"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// A session keeps its variables and files from one execution to the next.
func Example() {
	ctx := context.Background()
	client, err := yurtclient.New("http://127.0.0.1:8700") // of `yurt dev`
	if err != nil {
		log.Panic(err)
	}
	session, err := client.CreateSession(ctx, yurtclient.CreateSessionRequest{TemplateID: "python-basic"})
	if err != nil {
		log.Panic(err)
	}
	defer func() { _, _ = client.EndSession(ctx, session.ID) }()
	for _, code := range []string{"import math; x = 20", "x + math.floor(math.pi)"} {
		execution, err := client.Execute(ctx, session.ID, yurtclient.ExecuteRequest{Code: code})
		if err != nil {
			log.Panic(err) // about the request or the server
		}
		if failure := execution.Result.Error; failure != nil {
			log.Panic(failure.Message) // about the code
		}
		fmt.Println(string(execution.Result.Result))
	}
	// Prints:
	// null
	// 23
}

// Output is passed on as it comes.
func ExampleClient_ExecuteStream() {
	ctx := context.Background()
	client, err := yurtclient.New("http://127.0.0.1:8700")
	if err != nil {
		log.Panic(err)
	}
	session, err := client.CreateSession(ctx, yurtclient.CreateSessionRequest{TemplateID: "python-basic"})
	if err != nil {
		log.Panic(err)
	}
	defer func() { _, _ = client.EndSession(ctx, session.ID) }()
	request := yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "for i in 1 2 3; do echo $i; sleep 0.1; done"}}
	_, err = client.ExecuteStream(ctx, session.ID, request, func(event yurt.Event) error {
		if event.Type == yurt.EventStdout {
			fmt.Print(string(event.Data))
		}
		return nil
	})
	if err != nil {
		log.Panic(err)
	}
	// Prints:
	// 1
	// 2
	// 3
}

// The events of an execution come in a loop, which goes on after a connection that breaks.
func ExampleSandbox_Stream() {
	ctx := context.Background()
	client, err := yurtclient.New("http://127.0.0.1:8700")
	if err != nil {
		log.Panic(err)
	}
	sandbox, err := client.Create(ctx, yurtclient.CreateSessionRequest{})
	if err != nil {
		log.Panic(err)
	}
	defer func() { _, _ = sandbox.Kill(ctx) }()
	execution, err := sandbox.Stream(ctx, yurtclient.ExecuteRequest{Language: "python", Code: "print(6 * 7)"})
	if err != nil {
		log.Panic(err)
	}
	for event, err := range execution.Events(ctx) {
		if err != nil {
			log.Panic(err)
		}
		if event.Type == yurt.EventStdout {
			fmt.Print(string(event.Data))
		}
	}
	// Prints: 42
}

// A result has all that code showed, in as many types as the code gave it.
func ExampleText() {
	ctx := context.Background()
	client, err := yurtclient.New("http://127.0.0.1:8700")
	if err != nil {
		log.Panic(err)
	}
	sandbox, err := client.Create(ctx, yurtclient.CreateSessionRequest{})
	if err != nil {
		log.Panic(err)
	}
	defer func() { _, _ = sandbox.Kill(ctx) }()
	result, err := sandbox.RunCode(ctx, "python", "{'a': 1}")
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(yurtclient.Text(result), yurtclient.PNG(result) == nil)
	// Prints: {'a': 1} true
}

// A handler is called with an event, as AWS Lambda calls it.
func ExampleSandbox_Invoke() {
	ctx := context.Background()
	client, err := yurtclient.New("http://127.0.0.1:8700")
	if err != nil {
		log.Panic(err)
	}
	sandbox, err := client.Create(ctx, yurtclient.CreateSessionRequest{})
	if err != nil {
		log.Panic(err)
	}
	defer func() { _, _ = sandbox.Kill(ctx) }()
	handler := yurtclient.ExecuteRequest{Language: "python", Code: "def handler(event, context):\n    return event['a'] + event['b']"}
	result, err := sandbox.Invoke(ctx, handler, map[string]int{"a": 1, "b": 2})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(string(result.Result))
	// Prints: 3
}

// Files are passed by path, and code in the sandbox has them in /workspace.
func ExampleWorkspace() {
	ctx := context.Background()
	client, err := yurtclient.New("http://127.0.0.1:8700")
	if err != nil {
		log.Panic(err)
	}
	sandbox, err := client.Create(ctx, yurtclient.CreateSessionRequest{})
	if err != nil {
		log.Panic(err)
	}
	defer func() { _, _ = sandbox.Kill(ctx) }()
	if _, err := sandbox.Files.Write(ctx, "data/a.csv", []byte("a,b\n1,2\n")); err != nil {
		log.Panic(err)
	}
	if _, err := sandbox.RunCommand(ctx, "wc -l < data/a.csv > count"); err != nil {
		log.Panic(err)
	}
	text, err := sandbox.Files.ReadText(ctx, "count")
	if err != nil {
		log.Panic(err)
	}
	fmt.Print(text)
	for file, err := range sandbox.Files.List(ctx, "", 2) {
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(file.Path)
	}
	// Prints:
	// 2
	// count
	// data
	// data/a.csv
}

// Local starts a server for the program, and ends it.
func ExampleLocal() {
	ctx := context.Background()
	client, stop, err := yurtclient.Local(ctx)
	if err != nil {
		log.Panic(err)
	}
	defer func() { _ = stop() }()
	sandbox, err := client.Create(ctx, yurtclient.CreateSessionRequest{})
	if err != nil {
		log.Panic(err)
	}
	result, err := sandbox.RunCommand(ctx, "echo hello")
	if err != nil {
		log.Panic(err)
	}
	fmt.Print(result.Stdout)
	// Prints: hello
}
