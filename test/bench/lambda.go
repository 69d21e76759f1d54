package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/cache"
	"github.com/yurtrun/yurt/test/nodejs"
)

// lambdaPython is a warm invocation of a function that AWS's client for Python serves.
func lambdaPython(p *place) ([]contender, error) {
	packages, err := cache.Dir(filepath.Join("bench", "awslambdaric"), func(dir string) error {
		return command("/usr/bin/python3", "-m", "pip", "install", "--quiet", "--root-user-action", "ignore", "--target", dir, "awslambdaric")
	})
	if err != nil {
		return nil, err
	}
	return warmInvocation(p, "python-basic", packages, yurtclient.ExecuteRequest{
		Command: yurtclient.Command{Argv: []string{"/usr/bin/python3", "-m", "awslambdaric", "app.handler"}}, Handler: "app.handler",
		Files: yurtclient.Files{"app.py": []byte("def handler(event, context): return event['n'] + 1")},
	})
}

// lambdaNode is one of a function that AWS's client for Node serves.
func lambdaNode(p *place) ([]contender, error) {
	packages, err := cache.Dir(filepath.Join("bench", "aws-lambda-ric-4.0.2"), func(dir string) error {
		if err := nodejs.Run(p.ctx, dir, "install", "--prefix", dir, "aws-lambda-ric@4.0.2"); err != nil {
			return err
		}
		return os.RemoveAll(filepath.Join(dir, "node_modules", "aws-lambda-ric", "deps")) // the sources that it was built from
	})
	if err != nil {
		return nil, err
	}
	return warmInvocation(p, "javascript-basic", filepath.Join(packages, "node_modules", "aws-lambda-ric"), yurtclient.ExecuteRequest{
		Command: yurtclient.Command{Argv: []string{"/usr/bin/node", "index.mjs", "app.handler"}}, Handler: "app.handler",
		Files: yurtclient.Files{"app.mjs": []byte("export const handler = async (event) => event.n + 1")},
	})
}

// handlerPython is a warm invocation of a handler in code, by Yurt's own harness.
func handlerPython(p *place) ([]contender, error) {
	client, session, err := restSessionOf(p, "python-basic")
	return []contender{invoke(p, client, session, yurtclient.ExecuteRequest{
		Language: "python", Handler: "handler", Code: "def handler(event, context): return event['n'] + 1",
	})}, err
}

// handlerNode is one of a handler in JavaScript.
func handlerNode(p *place) ([]contender, error) {
	client, session, err := restSessionOf(p, "javascript-basic")
	return []contender{invoke(p, client, session, yurtclient.ExecuteRequest{
		Language: "javascript", Handler: "handler", Code: "export const handler = async (event) => event.n + 1",
	})}, err
}

// warmInvocation invokes a function whose files and client are in the workspace already; the
// first call starts it.
func warmInvocation(p *place, template, packages string, request yurtclient.ExecuteRequest) ([]contender, error) {
	client, session, err := restSessionOf(p, template)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := errors.Join(w.AddFS(os.DirFS(packages)), w.Close()); err != nil {
		return nil, fmt.Errorf("packing %s: %w", packages, err)
	}
	if _, err := client.UnpackFiles(p.ctx, session, "/workspace", &archive); err != nil {
		return nil, err
	}
	for name, content := range request.Files {
		if _, err := client.PutFile(p.ctx, session, name, bytes.NewReader(content)); err != nil {
			return nil, err
		}
	}
	request.Files = nil
	return []contender{invoke(p, client, session, request)}, nil
}

// invoke is an invocation of a function that adds one.
func invoke(p *place, client *yurtclient.Client, session string, request yurtclient.ExecuteRequest) contender {
	request.Event = json.RawMessage(`{"n":41}`)
	return contender{name: "yurt", do: func() error {
		done, err := client.Execute(p.ctx, session, request)
		if err == nil && string(done.Result.Result) != "42" {
			err = fmt.Errorf("it returned %q: %+v %s", done.Result.Result, done.Result.Error, done.Result.Stderr)
		}
		return err
	}}
}
