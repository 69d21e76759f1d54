package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

func (d *demo) steps() []func(context.Context) error {
	return []func(context.Context) error{
		d.createSession, d.callHandler, d.streamCommand, d.keepFiles, d.timeOut, d.tryToBreakOut, d.crash, d.manyAtOnce,
	}
}

// curl shows a POST as the command that would send it. Code is shown apart.
func (d *demo) curl(path string, body object) {
	shown := object{}
	for key, value := range body {
		shown[key] = value
	}
	if _, ok := shown["code"]; ok {
		shown["code"] = "<the code above>"
	}
	d.request("curl " + d.short(path) + " --json '" + strings.ReplaceAll(unescapeHTML(compact(shown)), "'", `'\''`) + "'")
}

// short writes a path with the variables that the demo sets as it goes along.
func (d *demo) short(path string) string {
	path = "$YURT" + strings.TrimPrefix(path, "/api/v1")
	if d.session.ID != "" {
		path = strings.Replace(path, d.session.ID, "$ID", 1)
	}
	return path
}

// unescapeHTML undoes the escaping that encoding/json does for browsers' sake.
func unescapeHTML(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text)
}

func (d *demo) executePath() string { return "/api/v1/sessions/" + d.session.ID + "/execute" }

// want is an error unless ok holds.
func want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func (d *demo) createSession(ctx context.Context) error {
	d.heading("A sandbox behind a REST API")
	d.request("YURT=" + d.base + "/api/v1")
	d.curl("/api/v1/sessions", object{"template_id": "python-basic", "mode": "persistent"})
	begun := time.Now()
	s, err := d.create(ctx, "python-basic")
	took := time.Since(begun)
	if err != nil {
		return err
	}
	d.session = s
	d.answer(compact(object{"id": s.ID, "state": s.State, "placement": s.Placement.Kind}))
	if err := want(s.State == "ready", "the session is %s (%s), not ready", s.State, s.Reason); err != nil {
		return err
	}
	d.request("ID=" + s.ID)
	d.proved("ready %s after the request: own namespaces, read-only root, seccomp, cgroup limits", ms(took))
	return nil
}

func (d *demo) callHandler(ctx context.Context) error {
	d.heading("A Lambda-style handler")
	const code = `import platform

def handler(event, context):
    print("handling", context.aws_request_id[:8])
    total = sum(n * n for n in event["numbers"])
    return {"hello": event["name"], "sum_of_squares": total, "python": platform.python_version()}
`
	body := object{"language": "python", "code": code, "handler": "handler", "event": object{"name": "world", "numbers": []int{1, 2, 3, 4}}}
	d.source("handler.py", code)
	d.curl(d.executePath(), body)
	r, err := d.execute(ctx, d.session.ID, body)
	if err != nil {
		return err
	}
	d.answer(compact(object{"exit_code": r.ExitCode, "stdout": r.Stdout, "result": r.Result}))
	d.answer(compact(object{"metrics": r.Metrics}))
	var value struct {
		Hello string `json:"hello"`
		Sum   int    `json:"sum_of_squares"`
	}
	if err := json.Unmarshal(r.Result, &value); err != nil {
		return fmt.Errorf("reading the handler's result: %w", err)
	}
	if err := want(r.ExitCode == 0 && value.Hello == "world" && value.Sum == 30, "the handler answered %s", r.Result); err != nil {
		return err
	}
	d.proved("what it returns is the result, what it prints is apart from it")
	return nil
}

func (d *demo) streamCommand(ctx context.Context) error {
	d.heading("A shell command, streamed while it runs")
	body := object{"command": `for i in 1 2 3 4 5; do echo "tick $i"; sleep 0.3; done`, "stream": true}
	d.curl(d.executePath(), body)
	var arrivals []time.Duration
	r, err := d.stream(ctx, d.session.ID, body, func(e event, at time.Duration) {
		if e.Type == "stdout" {
			arrivals = append(arrivals, at)
			d.answer(fmt.Sprintf("%8s  event %d  %s", "+"+ms(at), e.Seq, strings.TrimSpace(e.Data)))
		}
	})
	if err != nil {
		return err
	}
	if err := want(r.ExitCode == 0 && len(arrivals) == 5, "it ended with %d after %d lines", r.ExitCode, len(arrivals)); err != nil {
		return err
	}
	spread := arrivals[4] - arrivals[0]
	if err := want(spread > time.Second, "all lines came within %s", ms(spread)); err != nil {
		return err
	}
	d.proved("each line arrived when it was printed, numbered: a watcher that drops out resumes where it was")
	return nil
}

func (d *demo) keepFiles(ctx context.Context) error {
	d.heading("Files live as long as the session")
	const write = `with open("notes.txt", "w") as f:
    f.write("written by one execution\n")
`
	body := object{"language": "python", "code": write}
	d.source("first execution", write)
	d.curl(d.executePath(), body)
	r, err := d.execute(ctx, d.session.ID, body)
	if err != nil {
		return err
	}
	if err := want(r.ExitCode == 0, "writing ended with %d: %s", r.ExitCode, r.Stderr); err != nil {
		return err
	}
	body = object{"command": []string{"sed", "s/one/another/", "notes.txt"}}
	d.curl(d.executePath(), body)
	r, err = d.execute(ctx, d.session.ID, body)
	if err != nil {
		return err
	}
	d.answer(compact(object{"exit_code": r.ExitCode, "stdout": r.Stdout}))
	path := "/api/v1/sessions/" + d.session.ID + "/files/notes.txt"
	d.request("curl " + d.short(path))
	text, err := d.download(ctx, path)
	if err != nil {
		return err
	}
	d.answer(text)
	if err := want(r.Stdout == "written by another execution\n" && text == "written by one execution\n", "the file holds %q", text); err != nil {
		return err
	}
	d.proved("written by Python, read by a shell command, downloaded over REST")
	return nil
}

func (d *demo) download(ctx context.Context, path string) (string, error) {
	resp, err := d.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("downloading: %w", err)
	}
	return string(text), nil
}

func (d *demo) timeOut(ctx context.Context) error {
	d.heading("A program that never ends")
	const code = `import os, subprocess, time

subprocess.Popen(["sleep", "1234"], start_new_session=True)   # tries to outlive us
if os.fork() == 0:                                            # a double fork, likewise
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "1234"])
    os._exit(0)
for i in range(1000):
    print("still here", i, flush=True)
    time.sleep(0.4)
`
	body := object{"language": "python", "code": code, "timeout": 1}
	d.source("stubborn.py", code)
	d.curl(d.executePath(), body)
	r, err := d.execute(ctx, d.session.ID, body)
	if err != nil {
		return err
	}
	d.answer(compact(object{"exit_code": r.ExitCode, "stdout": r.Stdout, "error": r.Error}))
	if err := want(r.Error != nil && r.Error.Type == "ExecutionTimeout" && strings.HasPrefix(r.Stdout, "still here 0\n"),
		"that is no timeout with the output so far"); err != nil {
		return err
	}
	body = object{"command": "cat /proc/[0-9]*/comm"}
	d.curl(d.executePath(), body)
	after, err := d.execute(ctx, d.session.ID, body)
	if err != nil {
		return err
	}
	d.answer(compact(object{"exit_code": after.ExitCode, "stdout": after.Stdout}))
	const warm = 1 // interpreter of the handler, which waits for its next event
	if err := want(after.ExitCode == 0 && !strings.Contains(after.Stdout, "sleep") && strings.Count(after.Stdout, "python") <= warm,
		"processes of it are left: %s", after.Stdout); err != nil {
		return err
	}
	d.proved("ended after 1s with the output so far; its children are gone too, and the session works on")
	return nil
}

func (d *demo) tryToBreakOut(ctx context.Context) error {
	d.heading("Code that wants out")
	host, err := url.Parse(d.base)
	if err != nil {
		return fmt.Errorf("reading the server's address: %w", err)
	}
	attempts := []struct{ wish, command string }{
		{"read the host's passwords", "cat /etc/shadow"},
		{"look into root's home", "ls /root"},
		{"reach the internet", "exec 3<>/dev/tcp/1.1.1.1/53"},
		{"reach this very server", "exec 3<>/dev/tcp/127.0.0.1/" + host.Port()},
		{"mount a file system", "mount -t tmpfs none /mnt"},
		{"change the system", "touch /usr/bin/python3"},
		{"become root", "python3 -c 'import os; os.setuid(0)'"},
		{"stop the first process", "kill -9 1"},
	}
	for _, attempt := range attempts {
		r, err := d.execute(ctx, d.session.ID, object{"command": []string{"bash", "-c", attempt.command}})
		if err != nil {
			return err
		}
		d.request(attempt.command)
		d.answer(fmt.Sprintf("exit %d  %s", r.ExitCode, gist(r.Stdout+r.Stderr)))
		if err := want(r.ExitCode != 0, "it could %s:\n%s", attempt.wish, r.Stdout); err != nil {
			return err
		}
	}
	r, err := d.execute(ctx, d.session.ID, object{"command": []string{"id", "-u"}})
	if err != nil {
		return err
	}
	if err := want(r.Stdout == "1000\n", "afterwards the session answers %s%s", r.Stdout, r.Stderr); err != nil {
		return err
	}
	d.proved("%d attempts, each refused; the session is unharmed", len(attempts))
	return nil
}

// gist is the line of an error that names it: the first, or the last of a traceback.
func gist(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(lines[0], "Traceback") {
		return lines[len(lines)-1]
	}
	return lines[0]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000) }
