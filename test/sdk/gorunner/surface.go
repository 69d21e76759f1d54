package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

type serverOperation func(context.Context, *yurtclient.Client, *step) (any, error)

// serverOperations are those on a server that use each further call of the SDK once.
func serverOperations() map[string]serverOperation {
	return map[string]serverOperation{
		"health": health, "version": version, "runtimes": runtimes, "containers": containers, "drain": drain, "template": template, "pool": pool,
	}
}

func health(ctx context.Context, client *yurtclient.Client, _ *step) (any, error) {
	return object{"live": true, "ready": true}, errors.Join(yurtclient.Health(ctx, client), client.Ready(ctx))
}

func version(ctx context.Context, client *yurtclient.Client, _ *step) (any, error) {
	v, err := client.Version(ctx)
	return object{"version": v.Version}, err
}

func runtimes(ctx context.Context, client *yurtclient.Client, _ *step) (any, error) {
	found, err := client.Runtimes(ctx)
	names := []string{}
	for i := range found {
		names = append(names, found[i].Name)
	}
	return object{"names": names}, err
}

func containers(ctx context.Context, client *yurtclient.Client, _ *step) (any, error) {
	found, err := client.Containers(ctx)
	if err != nil {
		return nil, err
	}
	read, err := yurtclient.Container(ctx, client, found[0].ID)
	return object{"count": len(found), "read": read.ID == found[0].ID}, err
}

func drain(ctx context.Context, client *yurtclient.Client, _ *step) (any, error) {
	nodes, err := client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	begun, err := client.DrainNode(ctx, nodes[0].Name, yurt.Duration(time.Hour))
	if err != nil {
		return nil, err
	}
	ended, err := client.UndrainNode(ctx, nodes[0].Name)
	return object{"draining": begun.Draining, "after": ended.Draining}, err
}

func template(ctx context.Context, client *yurtclient.Client, s *step) (any, error) {
	var with struct {
		Name   string `json:"name"`
		Source string `json:"source"`
	}
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	source := func(description string) []byte { return []byte(strings.ReplaceAll(with.Source, "%s", description)) }
	silent := func(string) error { return nil }
	created, err := client.CreateTemplateStream(ctx, source("first"), silent)
	if err != nil {
		return nil, err
	}
	replaced, replaceErr := client.ReplaceTemplate(ctx, with.Name, source("second"))
	read, readErr := client.Template(ctx, with.Name)
	all, listErr := client.Templates(ctx, yurtclient.TemplateFilter{NamePrefix: with.Name})
	prepared, prepareErr := client.PrepareTemplate(ctx, with.Name, silent)
	pushed, held, pushErr := push(ctx, client, with.Name)
	if err := errors.Join(replaceErr, readErr, listErr, prepareErr, pushErr, client.DeleteTemplate(ctx, with.Name)); err != nil {
		return nil, err
	}
	_, gone := client.Template(ctx, with.Name)
	listed := false
	for i := range all {
		listed = listed || all[i].Name == with.Name
	}
	return object{
		"created": created.Description, "replaced": replaced.Description, "read": read.Description, "listed": listed,
		"prepared": len(prepared), "pushed": pushed, "held": held, "gone": yurt.CodeOf(gone),
	}, nil
}

// push makes two templates at once, of which one extends the other, counts them and removes them. held is the code of the error by
// which the other could not be removed first.
func push(ctx context.Context, client *yurtclient.Client, name string) (count int, held yurt.Code, err error) {
	base := yurt.Template{Name: name + "-a", Runtimes: []string{"python"}}
	made := yurt.Template{Name: name + "-b", Runtimes: []string{"python"}, Extends: base.Name}
	if err := client.PushTemplates(ctx, []yurt.Template{base, made}, false, func(string) error { return nil }); err != nil {
		return 0, "", err
	}
	there, err := client.Templates(ctx, yurtclient.TemplateFilter{NamePrefix: name + "-"})
	inUse := client.DeleteTemplate(ctx, base.Name)
	return len(there), yurt.CodeOf(inUse), errors.Join(err, client.DeleteTemplate(ctx, made.Name), client.DeleteTemplate(ctx, base.Name))
}

func pool(ctx context.Context, client *yurtclient.Client, s *step) (any, error) {
	var with struct {
		Template string `json:"template"`
		Max      int    `json:"max"`
	}
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	set, setErr := client.SetPool(ctx, with.Template, yurt.PoolChange{Max: &with.Max})
	read, readErr := client.Pool(ctx, with.Template)
	all, listErr := client.Pools(ctx, yurtclient.PoolFilter{TemplatePrefix: with.Template})
	unset, unsetErr := client.UnsetPool(ctx, with.Template)
	listed := false
	for i := range all {
		listed = listed || all[i].Template == with.Template
	}
	return object{"set": set.Max, "read": read.Max, "listed": listed, "unset": unset.Max}, errors.Join(setErr, readErr, listErr, unsetErr)
}

func executions(ctx context.Context, box *yurtclient.Sandbox, _ *step) (any, error) {
	var counts []int
	var found []yurt.Execution
	for _, kind := range []yurt.ExecutionKind{yurt.KindCommand, yurt.KindCode, ""} {
		found = nil
		for execution, err := range box.Executions(ctx, yurtclient.ExecutionFilter{Kind: kind}) {
			if err != nil {
				return nil, err
			}
			found = append(found, execution)
		}
		counts = append(counts, len(found))
	}
	states := []yurt.ExecutionState{}
	for i := range found {
		states = append(states, found[i].State)
	}
	record, recordErr := box.Execution(found[0].ID).Record(ctx)
	latest, latestErr := box.Latest(ctx)
	ended, err := box.LatestResult(ctx)
	if err := errors.Join(recordErr, latestErr, err); err != nil {
		return nil, err
	}
	return object{
		"count": len(found), "states": states, "filtered": counts[:2], "stdout": record.Result.Stdout,
		"latest": latest.ID == found[0].ID, "result": ended.Stdout,
	}, nil
}

func sized(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var size yurtclient.TerminalSize
	if err := arguments(s, &size); err != nil {
		return nil, err
	}
	return result(box.Run(ctx, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "stty size"}, TTY: &size}))
}

func changes(ctx context.Context, box *yurtclient.Sandbox, _ *step) (any, error) {
	found, err := box.Changes(ctx)
	if err != nil {
		return nil, err
	}
	return object{"count": len(found), "first": found[0].To}, nil
}

// endFollowed ends the sandbox while it follows the changes of its state, and asks for those after the last.
func endFollowed(ctx context.Context, box *yurtclient.Sandbox, _ *step) (any, error) {
	var seen []yurtclient.SessionChange
	for change, err := range box.FollowChanges(ctx, 1) {
		if err == nil && len(seen) == 0 {
			_, err = box.Kill(ctx)
		}
		if err != nil {
			return nil, err
		}
		seen = append(seen, change)
	}
	after := 0
	last := seen[len(seen)-1]
	for _, err := range box.FollowChanges(ctx, last.Seq) {
		if after++; err != nil {
			return nil, err
		}
	}
	return object{"begun": fmt.Sprint(seen[0].Seq, " ", seen[0].To), "last": last.To, "after": after}, nil
}

func logs(ctx context.Context, box *yurtclient.Sandbox, _ *step) (any, error) {
	entries, err := box.Logs(ctx, 65536)
	if err != nil {
		return nil, err
	}
	var text, followed strings.Builder
	for i := range entries {
		text.Write(entries[i].Data)
	}
	for entry, err := range box.FollowLogs(ctx, 65536) {
		followed.Write(entry.Data)
		return object{"text": text.String(), "followed": followed.String()}, err
	}
	return nil, errors.New("the logs ended; expected an entry")
}

func metrics(ctx context.Context, box *yurtclient.Sandbox, _ *step) (any, error) {
	used, err := box.Metrics(ctx)
	return object{"limit": used.MemoryLimitBytes}, err
}

// shaping are the arguments of steps that change files.
type shaping struct {
	Path string        `json:"path"`
	To   string        `json:"to"`
	Mode yurt.FileMode `json:"mode"`
}

func copyTree(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with shaping
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	archive, err := box.Files.Pack(ctx, with.Path)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	done, err := box.Files.Unpack(ctx, archive, with.To)
	return object{"entries": done.Entries}, err
}

func shapeFile(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with shaping
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	changed, modeErr := box.Files.Chmod(ctx, with.Path, with.Mode)
	directory, dirErr := box.Files.MakeDir(ctx, "new")
	moved, moveErr := box.Files.Move(ctx, with.Path, with.To, false)
	there, statErr := box.Files.Stat(ctx, with.To)
	if err := errors.Join(modeErr, dirErr, moveErr, statErr, box.Files.Remove(ctx, with.To, false)); err != nil {
		return nil, err
	}
	_, gone := box.Files.Stat(ctx, with.To)
	return object{"mode": changed.Mode, "directory": directory.Type, "moved": moved.Path, "size": there.Size, "gone": yurt.CodeOf(gone)}, nil
}

func watch(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with shaping
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	written := make(chan error, 1)
	go func() {
		time.Sleep(500 * time.Millisecond)
		_, err := box.Files.Write(ctx, with.Path, []byte("x"))
		written <- err
	}()
	for event, err := range box.Files.Watch(ctx, "", false) {
		return object{"path": event.Path}, errors.Join(err, <-written)
	}
	return nil, errors.Join(errors.New("the watch ended; expected a change"), <-written)
}

func converse(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with filing
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	execution, err := box.Stream(ctx, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "cat"}, StdinOpen: true})
	if err != nil {
		return nil, err
	}
	text := []byte(*with.Text)
	if err := errors.Join(execution.WriteStdin(ctx, text[:1], false), execution.WriteStdin(ctx, text[1:], true)); err != nil {
		return nil, err
	}
	return result(execution.Wait(ctx))
}

func sleeping(ctx context.Context, box *yurtclient.Sandbox) (*yurtclient.Execution, error) {
	return box.Stream(ctx, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"sleep", "60"}}})
}

func endBySignal(ctx context.Context, box *yurtclient.Sandbox, _ *step) (any, error) {
	execution, err := sleeping(ctx, box)
	if err != nil {
		return nil, err
	}
	if err := execution.Signal(ctx, 15); err != nil {
		return nil, err
	}
	return result(execution.Wait(ctx))
}

func endProcess(ctx context.Context, box *yurtclient.Sandbox, _ *step) (any, error) {
	execution, err := sleeping(ctx, box)
	if err != nil {
		return nil, err
	}
	pid := 0
	for end := time.Now().Add(10 * time.Second); pid == 0; {
		found, err := box.Processes(ctx, yurtclient.ProcessFilter{ExecutionID: execution.ID})
		if err != nil || time.Now().After(end) {
			return nil, fmt.Errorf("looking for the sleep that was started: %w", err)
		}
		for i := range found {
			if found[i].Name == "sleep" {
				pid = found[i].PID
			}
		}
	}
	if err := errors.Join(box.SignalProcess(ctx, pid, yurt.Signal(syscall.SIGCONT)), box.KillProcess(ctx, pid)); err != nil {
		return nil, err
	}
	return result(execution.Wait(ctx))
}

func questions(ctx context.Context, box *yurtclient.Sandbox, s *step) (any, error) {
	var with running
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	completion, err := box.Complete(ctx, "asked", yurt.Question{Code: with.Code, Language: "python"})
	if err != nil {
		return nil, err
	}
	match := ""
	for _, each := range completion.Matches {
		if match == "" && strings.HasPrefix(each.Text, "print") {
			match = each.Text
		}
	}
	inspection, err := box.Inspect(ctx, "asked", yurt.Question{Code: match, Language: "python"})
	if err := errors.Join(err, box.RemoveContext(ctx, "asked", "")); err != nil {
		return nil, err
	}
	gone := box.RestartContext(ctx, "asked", "")
	return object{"match": match, "found": inspection.Found, "removed": yurt.CodeOf(gone)}, nil
}

// terminalCommand tells the size of the terminal at first, and after each of two words.
const terminalCommand = "stty -echo; stty size; read word; echo $word; stty size; read word; stty size"

func terminal(ctx context.Context, box *yurtclient.Sandbox, _ *step) (any, error) {
	opened, err := box.Terminal(ctx, yurtclient.TerminalRequest{Command: terminalCommand})
	if err != nil {
		return nil, err
	}
	defer func() { opened.Close() }()
	shown := ""
	for _, turn := range []struct {
		until string
		then  func() error
	}{
		{"24 80\r\n", func() error {
			opened.Close() // the connection breaks
			again, err := box.Terminal(ctx, yurtclient.TerminalRequest{ExecutionID: opened.ExecutionID, After: opened.Last()})
			if err != nil {
				return err
			}
			opened = again
			err = box.Execution(opened.ExecutionID).Resize(ctx, yurtclient.TerminalSize{Rows: 40, Cols: 120})
			return errors.Join(err, opened.Write(ctx, []byte("hej\n")))
		}},
		{"40 120\r\n", func() error {
			err := opened.Resize(ctx, yurtclient.TerminalSize{Rows: 30, Cols: 100})
			return errors.Join(err, opened.Write(ctx, []byte("again\n")))
		}},
	} {
		for !strings.HasSuffix(shown, turn.until) {
			data, exit, err := opened.Next(ctx)
			if err != nil || exit != nil {
				return nil, fmt.Errorf("the terminal showed %q and ended, expected %q: %w", shown, turn.until, err)
			}
			shown += string(data)
		}
		if err := turn.then(); err != nil {
			return nil, err
		}
	}
	for {
		data, exit, err := opened.Next(ctx)
		if err != nil {
			return nil, err
		}
		if exit != nil {
			return object{"shown": shown, "exit_code": exit.Code}, nil
		}
		shown += string(data)
	}
}
