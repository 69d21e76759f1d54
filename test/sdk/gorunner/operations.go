package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

type object = map[string]any

// arguments decodes the arguments of a step.
func arguments(s *step, into any) error {
	if len(s.With) == 0 {
		return nil
	}
	return json.Unmarshal(s.With, into)
}

func session(info yurt.Session, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return object{"state": info.State, "template": info.TemplateID, "metadata": info.Metadata, "timeout": time.Duration(info.Timeout).Seconds()}, nil
}

func result(r *yurt.Result, err error) (object, error) {
	if err != nil {
		return nil, err
	}
	shown := object{"stdout": r.Stdout, "stderr": r.Stderr, "exit_code": r.ExitCode, "value": r.Result, "error": nil, "text": nil}
	if r.Error != nil {
		shown["error"] = object{"type": r.Error.Type, "message": r.Error.Message}
	}
	if r.MainDisplay != nil {
		shown["text"] = r.Displays[*r.MainDisplay]["text/plain"]
	}
	return shown, nil
}

func create(ctx context.Context, p *play, s *step) (any, error) {
	var with struct {
		Template  string                `json:"template"`
		Timeout   *yurt.Duration        `json:"timeout"`
		Metadata  map[string]string     `json:"metadata"`
		Resources *yurtclient.Resources `json:"resources"`
		Mode      yurt.Mode             `json:"mode"`
	}
	if err := arguments(s, &with); err != nil {
		if yurt.CodeOf(err) == yurt.CodeInvalidArgument { // of a duration, which does not know its field
			err = yurt.FieldErrorf(yurt.CodeInvalidArgument, "timeout", "%w", err)
		}
		return nil, err
	}
	req := yurtclient.CreateSessionRequest{TemplateID: with.Template, Metadata: with.Metadata, Resources: with.Resources, Mode: with.Mode}
	if with.Timeout != nil {
		req.Timeout = *with.Timeout
	}
	client, err := p.clientOf(s)
	if err != nil {
		return nil, err
	}
	box, err := client.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	p.made = append(p.made, box)
	p.named[s.As] = box
	return session(box.Info(), nil)
}

func connect(ctx context.Context, p *play, s *step) (any, error) {
	var with struct {
		ID string `json:"id"`
	}
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	if box := p.named[s.In]; box != nil {
		with.ID = box.ID
	}
	client, err := p.clientOf(s)
	if err != nil {
		return nil, err
	}
	box, err := client.Connect(ctx, with.ID)
	if err != nil {
		return nil, err
	}
	p.named[s.As] = box
	return session(box.Info(), nil)
}

func list(ctx context.Context, p *play, s *step) (any, error) {
	var with struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	count := 0
	for _, err := range p.client.List(ctx, yurtclient.SessionFilter{Metadata: with.Metadata}) {
		if err != nil {
			return nil, err
		}
		count++
	}
	return object{"count": count}, nil
}

func control(ctx context.Context, s *step) (any, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("YURT_CONTROL"), bytes.NewReader(s.With))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer object
	return answer, errors.Join(json.NewDecoder(resp.Body).Decode(&answer))
}

func atOnce(ctx context.Context, p *play, s *step) error {
	var with struct {
		Count int `json:"count"`
	}
	if err := arguments(s, &with); err != nil {
		return err
	}
	problems := make([]error, with.Count)
	var all sync.WaitGroup
	for i := range with.Count {
		all.Go(func() {
			part := newPlay(p.client)
			problems[i] = errors.Join(part.run(ctx, s.Steps), part.end(ctx))
		})
	}
	all.Wait()
	return errors.Join(problems...)
}

type operation func(context.Context, *yurtclient.Sandbox, *step) (any, error)

// operations are those on a sandbox.
func operations() map[string]operation {
	changing := func(change func(*yurtclient.Sandbox, context.Context) (yurt.Session, error)) operation {
		return func(ctx context.Context, box *yurtclient.Sandbox, _ *step) (any, error) {
			return session(change(box, ctx))
		}
	}
	return map[string]operation{
		"executions": executions, "sized": sized, "changes": changes, "end_followed": endFollowed, "logs": logs, "metrics": metrics, "copy_tree": copyTree, "shape_file": shapeFile,
		"watch": watch, "converse": converse, "end_by_signal": endBySignal, "end_process": endProcess, "questions": questions, "terminal": terminal,
		"kill": kill, "pause": changing((*yurtclient.Sandbox).Pause), "resume": changing((*yurtclient.Sandbox).Resume),
		"set_timeout": setTimeout, "run_code": runRequest, "run_command": runRequest, "invoke": invoke, "stream_code": streamCode, "abandon": abandon,
		"contexts": contexts, "restart_context": restartContext, "processes": processes,
		"write_file": writeFile, "read_file": readFile, "list_files": listFiles, "upload": upload, "download": download,
	}
}

func kill(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with struct {
		DeleteResults bool `json:"delete_results"`
	}
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	if with.DeleteResults {
		return session(box.Kill(ctx, yurtclient.DeleteResults))
	}
	return session(box.Kill(ctx))
}

func setTimeout(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with struct {
		Timeout float64 `json:"timeout"`
	}
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	return session(box.SetTimeout(ctx, seconds(with.Timeout), 0))
}

// running are the arguments of steps that run something.
type running struct {
	Code         string          `json:"code"`
	Language     string          `json:"language"`
	Context      *string         `json:"context"`
	Timeout      yurt.Duration   `json:"timeout"`
	Command      json.RawMessage `json:"command"`
	CancelAt     yurt.EventType  `json:"cancel_at"`
	AfterSeconds float64         `json:"after_seconds"`
	PauseSeconds float64         `json:"pause_seconds"`

	Handler      string            `json:"handler"`
	Files        map[string]string `json:"files"`
	OnDisconnect yurt.OnDisconnect `json:"on_disconnect"`
}

func (r *running) request() (yurtclient.ExecuteRequest, error) {
	req := yurtclient.ExecuteRequest{Code: r.Code, Language: r.Language, Timeout: r.Timeout, Plain: r.Code != ""}
	if r.Context != nil {
		req.Context = yurtclient.InContext(*r.Context)
	}
	req.Handler, req.OnDisconnect = r.Handler, r.OnDisconnect
	for path, text := range r.Files {
		if req.Files == nil {
			req.Files = make(yurtclient.Files)
		}
		req.Files[path] = []byte(text)
	}
	if len(r.Command) == 0 {
		return req, nil
	}
	if r.Command[0] == '"' {
		return req, json.Unmarshal(r.Command, &req.Command.Shell)
	}
	return req, json.Unmarshal(r.Command, &req.Command.Argv)
}

// request returns the request of a step that runs something.
func request(s *step) (yurtclient.ExecuteRequest, running, error) {
	var with running
	if err := arguments(s, &with); err != nil {
		return yurtclient.ExecuteRequest{}, with, err
	}
	req, err := with.request()
	return req, with, err
}

func runRequest(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	req, _, err := request(s)
	if err != nil {
		return nil, err
	}
	return result(box.Run(ctx, req))
}

func invoke(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with struct {
		Event object `json:"event"`
	}
	req, _, err := request(s)
	if err := errors.Join(err, arguments(s, &with)); err != nil {
		return nil, err
	}
	event := any(with.Event)
	if with.Event["$number"] == "NaN" {
		event = math.NaN()
	}
	req.Plain = false
	return result(box.Invoke(ctx, req, event))
}

func streamCode(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	req, with, err := request(s)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	execution, err := box.Stream(ctx, req)
	if err != nil {
		return nil, err
	}
	var events []yurt.Event
	var stdout []byte
	for event, err := range execution.Events(ctx) {
		if err != nil {
			return nil, err
		}
		if events = append(events, event); event.Type == yurt.EventStdout {
			stdout = append(stdout, event.Data...)
		}
		if len(events) == 1 {
			time.Sleep(time.Duration(with.PauseSeconds * float64(time.Second)))
		}
		if event.Type == with.CancelAt {
			with.CancelAt = ""
			if err := execution.Cancel(ctx); err != nil {
				return nil, err
			}
		}
	}
	shown, err := result(execution.Wait(ctx))
	if err != nil {
		return nil, err
	}
	shown["stdout_bytes"] = len(stdout)
	shown["stdout"], shown["events"], shown["seq"] = string(stdout), len(events), numbering(events)
	shown["first"], shown["last"], shown["seconds"] = events[0].Type, events[len(events)-1].Type, time.Since(began).Seconds()
	return shown, nil
}

// numbering returns "1..n" for events that are numbered so, and else their numbers.
func numbering(events []yurt.Event) string {
	var numbers []uint64
	for _, event := range events {
		numbers = append(numbers, event.Seq)
	}
	for i, number := range numbers {
		if number != uint64(i)+1 {
			return fmt.Sprint(numbers)
		}
	}
	return "1..n"
}

func abandon(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	req, with, err := request(s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, seconds(with.AfterSeconds))
	defer cancel()
	if _, err := box.Run(ctx, req); !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("the command ended with %w before it was interrupted", err)
	}
	return object{}, nil
}

func contexts(ctx context.Context, box *yurtclient.Sandbox, _ *step) (any, error) {
	found, err := box.Contexts(ctx)
	names := []string{}
	for _, c := range found {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return object{"names": names}, err
}

// named are the arguments of steps about an object of that name.
type named struct {
	Name  string `json:"name"`
	Named string `json:"named"`
}

func restartContext(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with named
	err := arguments(s, &with)
	return object{}, errors.Join(err, box.RestartContext(ctx, with.Name, ""))
}

func processes(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with named
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	found, err := box.Processes(ctx)
	count := 0
	for i := range found {
		if found[i].Name == with.Named {
			count++
		}
	}
	return object{"count": count}, err
}
