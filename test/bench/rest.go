package main

import (
	"fmt"
	"path/filepath"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/devserver"
)

// restSession starts a server of its own and a session on it.
func restSession(p *place) (*yurtclient.Client, string, error) {
	return restSessionOf(p, "python-basic")
}

func restSessionOf(p *place, template string) (*yurtclient.Client, string, error) {
	client, err := restServer(p)
	if err != nil {
		return nil, "", err
	}
	session, err := restSessionAt(p, client, template)
	return client, session, err
}

// restServer starts a server of its own.
func restServer(p *place) (*yurtclient.Client, error) {
	client, _, err := restServerAt(p)
	return client, err
}

// restServerAt is restServer with the address of the server.
func restServerAt(p *place) (*yurtclient.Client, string, error) {
	server, err := devserver.Run(p.ctx, filepath.Join(p.bin, "yurt"), filepath.Join(p.dir, "server"), "dev", "--listen", "127.0.0.1:0", "--run-dir", p.runDir)
	if err != nil {
		return nil, "", err
	}
	p.cleanup(server.Stop)
	client, err := yurtclient.New(server.URL)
	return client, server.URL, err
}

// restSessionAt starts a session on a server.
func restSessionAt(p *place, client *yurtclient.Client, template string) (string, error) {
	session, err := client.CreateSession(p.ctx, yurtclient.CreateSessionRequest{TemplateID: template, Mode: yurt.ModePersistent})
	if err != nil {
		return "", err
	}
	p.cleanup(func() error {
		_, err := client.EndSession(p.ctx, session.ID)
		return err
	})
	return session.ID, nil
}

// restSessionFrom starts a session from a template of its own.
func restSessionFrom(p *place, client *yurtclient.Client, text string) (string, error) {
	template, err := client.CreateTemplate(p.ctx, []byte(text))
	if err != nil {
		return "", err
	}
	return restSessionAt(p, client, template.Name)
}

// restCommand is a command in a session, through the REST API of a real server.
func restCommand(p *place) ([]contender, error) {
	client, session, err := restSession(p)
	if err != nil {
		return nil, err
	}
	return []contender{
		{name: "yurt", do: func() error {
			_, err := client.Execute(p.ctx, session, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"/bin/echo", "hello"}}})
			return err
		}},
		{name: "fork+exec", do: func() error { return command("/bin/echo", "hello") }},
	}, nil
}

// restCodePython is a Python of its own for a snippet, through the REST API, in a session that
// has used Python before: a fork of the interpreter that waits there.
func restCodePython(p *place) ([]contender, error) {
	client, session, err := restSession(p)
	if err != nil {
		return nil, err
	}
	return []contender{
		{name: "yurt", do: func() error {
			done, err := client.Execute(p.ctx, session, yurtclient.ExecuteRequest{Language: "python", Code: "print(6 * 7)", Context: yurtclient.InContext("")})
			if err == nil && done.Result.Stdout != "42\n" {
				err = fmt.Errorf("it said %q", done.Result.Stdout)
			}
			return err
		}},
		{name: "python3 -c", do: func() error { return command("/usr/bin/python3", "-c", "print(6 * 7)") }},
	}, nil
}

// preloaded is a template whose runs begin with numpy and pandas, which pip installs for it.
const preloaded = `template "bench-preloaded" {
  extends      = "python-basic"
  dependencies = { python = ["numpy==2.3.5", "pandas==2.3.3"] }
  preload      = ["numpy", "pandas"]
}`

// pythonPreloaded is a run that uses pandas, through the REST API, beside the same where the run
// has an environment of its own, and so an interpreter that is started for it.
func pythonPreloaded(p *place) ([]contender, error) {
	client, err := restServer(p)
	if err != nil {
		return nil, err
	}
	session, err := restSessionFrom(p, client, preloaded)
	if err != nil {
		return nil, err
	}
	run := func(env map[string]string) error {
		done, err := client.Execute(p.ctx, session, yurtclient.ExecuteRequest{
			Language: "python", Context: yurtclient.InContext(""), Env: env,
			Code: "import pandas, numpy\nprint(pandas.DataFrame({'a': numpy.arange(3)}).a.sum())",
		})
		if err == nil && done.Result.Stdout != "3\n" {
			err = fmt.Errorf("it said %q, and %q", done.Result.Stdout, done.Result.Stderr)
		}
		return err
	}
	return []contender{
		{name: "yurt", do: func() error { return run(nil) }},
		{name: "an interpreter of its own", do: func() error { return run(map[string]string{"OWN": "1"}) }},
	}, nil
}
