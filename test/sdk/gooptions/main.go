// Command gooptions calls each method of the Go SDK with all of its options, and prints the values that it returned, by operation of the
// API. A test compares both with the OpenAPI document. Its server answers each request with all fields of the document.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func main() {
	client, err := yurtclient.New(os.Getenv("YURT_URL"))
	if err == nil {
		err = run(context.Background(), client)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, client *yurtclient.Client) error {
	c := &caller{ctx: ctx, client: client, told: map[string][]any{}}
	for _, part := range []func(){c.server, c.templates, c.accounts, c.sandbox, c.executions, c.inside, c.files, c.end} {
		part()
	}
	return errors.Join(c.err, json.NewEncoder(os.Stdout).Encode(c.told))
}

// caller remembers the values of calls.
type caller struct {
	ctx    context.Context
	client *yurtclient.Client
	box    *yurtclient.Sandbox
	told   map[string][]any
	err    error
}

// keep notes a value of an operation.
func keep[T any](c *caller, operation string) func(T, error) {
	return func(value T, err error) {
		c.did(operation, err)
		c.told[operation] = append(c.told[operation], value)
		switch value := any(value).(type) { // whose output JSON does not show
		case yurt.Event:
			c.told[operation] = append(c.told[operation], string(value.Data))
		case yurt.LogEntry:
			c.told[operation] = append(c.told[operation], string(value.Data))
		}
	}
}

// did notes the error of an operation.
func (c *caller) did(operation string, err error) {
	if err != nil {
		c.err = errors.Join(c.err, fmt.Errorf("%s: %w", operation, err))
	}
}

// keepAll notes the values of a list.
func keepAll[T any](c *caller, operation string, values iter.Seq2[T, error]) {
	for value, err := range values {
		keep[T](c, operation)(value, err)
	}
}

func ptr[T any](value T) *T { return &value }

func now() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func (c *caller) server() {
	ctx, client := c.ctx, c.client
	keep[yurtclient.Version](c, "version")(client.Version(ctx))
	c.did("health", yurtclient.Health(ctx, client))
	keep[yurtclient.Status](c, "ready")(yurtclient.Readiness(ctx, client))
	keep[[]yurt.RuntimeInfo](c, "list-runtimes")(client.Runtimes(ctx, yurtclient.RuntimeFilter{Language: "python"}))
	filter := yurtclient.ContainerFilter{State: yurt.SandboxReady, Template: "t", Node: "n", SessionID: "s"}
	keep[[]yurt.Sandbox](c, "list-containers")(client.Containers(ctx, filter))
	keep[yurt.Sandbox](c, "get-container")(yurtclient.Container(ctx, client, "c"))
	keep[yurt.SandboxHealth](c, "get-container-health")(yurtclient.ContainerHealth(ctx, client, "c"))
	c.containerLogs()
	nodes := yurtclient.NodeFilter{NamePrefix: "n", Healthy: ptr(true), Draining: ptr(false)}
	keep[[]yurt.NodeInfo](c, "list-nodes")(client.Nodes(ctx, nodes))
	keep[yurt.Drain](c, "drain-node")(client.DrainNode(ctx, "n", yurt.Duration(time.Minute)))
	keep[yurt.Drain](c, "undrain-node")(client.UndrainNode(ctx, "n"))
	keep[[]yurt.Pool](c, "list-pools")(client.Pools(ctx, yurtclient.PoolFilter{TemplatePrefix: "t"}))
	keep[yurt.Pool](c, "get-pool")(client.Pool(ctx, "t"))
	keep[yurt.Pool](c, "set-pool")(client.SetPool(ctx, "t", yurt.PoolChange{Min: ptr(1), Max: ptr(2)}))
	keep[yurt.Pool](c, "unset-pool")(client.UnsetPool(ctx, "t"))
}

func (c *caller) containerLogs() {
	const operation = "get-container-logs"
	logs, truncated, err := yurtclient.ContainerLogs(c.ctx, c.client, "c", 1000)
	keep[any](c, operation)(map[string]bool{"truncated": truncated}, err)
	for _, entry := range logs {
		keep[yurt.LogEntry](c, operation)(entry, nil)
	}
	c.did(operation, yurtclient.FollowContainerLogs(c.ctx, c.client, "c", 1000, func(entry yurt.LogEntry) error {
		keep[yurt.LogEntry](c, operation)(entry, nil)
		return nil
	}))
}

// condition has each part of a condition, as no one request has it.
func condition() yurt.Condition {
	return yurt.Condition{Match: []string{`"a"`}, NoneMatch: []string{"*"}}
}

func (c *caller) templates() {
	ctx, client := c.ctx, c.client
	tell := func(operation string) func(string) error {
		return func(text string) error { keep[string](c, operation)(text, nil); return nil }
	}
	keep[[]yurt.Template](c, "list-templates")(client.Templates(ctx, yurtclient.TemplateFilter{NamePrefix: "t", Runtime: "python"}))
	keep[yurt.Template](c, "get-template")(client.Template(ctx, "t"))
	keep[yurt.Template](c, "create-template")(client.CreateTemplateStream(ctx, []byte("template"), tell("create-template")))
	keep[yurt.Template](c, "replace-template")(client.ReplaceTemplate(ctx, "t", []byte("template")))
	keep[yurt.Template](c, "replace-template")(yurtclient.ReplaceTemplateIf(ctx, client, "t", []byte("template"), condition()))
	c.did("push-templates", client.PushTemplates(ctx, []yurt.Template{{Name: "t", Extends: "default"}}, true, tell("push-templates")))
	keep[[]string](c, "prepare-template")(client.PrepareTemplate(ctx, "t", tell("prepare-template")))
	c.did("delete-template", client.DeleteTemplate(ctx, "t"))
}

func (c *caller) accounts() {
	ctx, keys, tenants := c.ctx, c.client.Keys(), yurtclient.NewTenants(c.client)
	keep[[]access.Key](c, "list-keys")(keys.List(ctx, "a"))
	hour := yurt.Duration(time.Hour)
	key, secret, err := keys.Create(ctx, yurtclient.CreateKeyRequest{Tenant: "a", Name: "n", Scopes: []access.Scope{access.Files}, ExpiresIn: &hour})
	keep[any](c, "create-key")(map[string]any{"key": secret.Reveal(), "of": key}, err)
	keep[access.Key](c, "revoke-key")(keys.Revoke(ctx, "key_a"))
	key, secret, err = keys.CreateToken(ctx, "s", yurtclient.CreateTokenRequest{Scopes: []access.Scope{access.Files}, ExpiresIn: &hour})
	keep[any](c, "create-token")(map[string]any{"key": secret.Reveal(), "of": key}, err)
	keep[[]access.TenantUsage](c, "list-tenants")(tenants.List(ctx))
	keep[access.TenantUsage](c, "get-usage")(tenants.Usage(ctx, "a"))
	keep[access.UsageHistory](c, "list-usage-samples")(tenants.Samples(ctx, "a"))
	keep[access.UsageHistory](c, "list-usage-samples")(tenants.SessionSamples(ctx, "s"))
	keep[access.TenantUsage](c, "set-quotas")(tenants.SetQuotas(ctx, "a", access.Quotas{
		Sessions: ptr(1), CreatesPerMinute: ptr(2), CPU: ptr(3.0), Memory: ptr(yurt.Size(4)), Disk: ptr(yurt.Size(5)), Executions: ptr(6), Storage: ptr(yurt.Size(7)),
	}))
	keep[[]access.Entry](c, "list-audit")(yurtclient.Audit(ctx, c.client, yurtclient.AuditFilter{
		Tenant: "a", Action: "create-session", Decision: access.Allowed, SessionID: "s", KeyID: "k", Subject: "u", RequestID: "r", Since: now(), Until: now(), Limit: 3,
	}))
}

func (c *caller) sandbox() {
	ctx, client := c.ctx, c.client
	box, err := client.Create(ctx, yurtclient.CreateSessionRequest{
		TemplateID: "t", Mode: yurt.ModePersistent, AgentID: "a", Reuse: true, Timeout: 1, IdleTimeout: 1, Env: map[string]string{"A": "1"},
		Metadata: map[string]string{"a": "b"}, Files: yurtclient.Files{"a": []byte("x")},
		Resources: &yurtclient.Resources{
			CPU: 1, Memory: 1, Disk: 1, PIDs: 1, DiskKind: yurt.DiskMemory, IOWeight: 1, Ulimits: yurt.Ulimits{NoFile: 64, FSize: 1, Stack: 1},
		},
	})
	if c.box = box; err != nil {
		c.did("create-session", err)
		return
	}
	keep[yurt.Session](c, "create-session")(box.Info(), nil)
	keep[yurt.Session](c, "get-session")(box.Refresh(ctx))
	keepAll(c, "list-sessions", yurtclient.EachSession(ctx, client, yurtclient.SessionFilter{
		IDPrefix: "s", TemplateID: "t", State: yurt.SessionReady, Live: true, AgentID: "a", Metadata: map[string]string{"a": "b"}, CreatedAfter: now(), CreatedBefore: now(),
	}))
	keep[yurt.Session](c, "pause-session")(box.Pause(ctx))
	keep[yurt.Session](c, "resume-session")(box.Resume(ctx))
	keep[yurt.Session](c, "set-session-timeout")(box.SetTimeout(ctx, time.Hour, time.Minute))
	keep[yurt.SandboxStats](c, "get-session-metrics")(box.Metrics(ctx))
	logs, truncated, err := client.Logs(ctx, box.ID, 1000)
	keep[any](c, "get-session-logs")(map[string]bool{"truncated": truncated}, err)
	for _, entry := range logs {
		keep[yurt.LogEntry](c, "get-session-logs")(entry, nil)
	}
	keepAll(c, "get-session-logs", box.FollowLogs(ctx, 1000))
	keep[[]yurt.Transition](c, "list-session-events")(box.Changes(ctx))
	keepAll(c, "list-session-events", box.FollowChanges(ctx, 0))
}

func (c *caller) executions() {
	ctx, box := c.ctx, c.box
	code := yurtclient.ExecuteRequest{
		Code: "1", Language: "python", Handler: "h", Event: json.RawMessage("{}"), Context: json.RawMessage(`{"a": 1}`), Files: yurtclient.Files{"a": []byte("x")}, Entry: "a",
		Args: []string{"b"}, Dependencies: []string{"numpy"}, Stdin: "x", StdinOpen: true, TTY: &yurtclient.TerminalSize{Rows: 1, Cols: 2},
		Env: map[string]string{"A": "1"}, Cwd: "/", Timeout: 1, OutputLimit: 1, OnDisconnect: yurt.DisconnectInterrupt, Command: yurtclient.Command{Shell: "ls"},
	}
	execution, err := box.Stream(ctx, code)
	if err != nil {
		c.did("execute", err)
		return
	}
	keepAll(c, "execute", execution.Events(ctx))
	keep[yurt.Execution](c, "execute")(c.client.Execute(ctx, box.ID, code))
	keep[yurt.Execution](c, "execute")(c.client.Start(ctx, box.ID, code))
	filter := yurtclient.ExecutionFilter{State: yurt.ExecutionSucceeded, Kind: yurt.KindCode, Language: "python", CreatedAfter: now(), CreatedBefore: now()}
	keepAll(c, "list-executions", box.Executions(ctx, filter))
	keep[yurt.Execution](c, "get-status")(box.Latest(ctx))
	keep[yurt.Execution](c, "get-result")(c.client.Result(ctx, box.ID, "exe_a"))
	keep[yurt.Execution](c, "get-execution")(c.client.Execution(ctx, box.ID, "exe_a"))
	keep[yurt.Execution](c, "cancel-execution")(c.client.CancelExecution(ctx, box.ID, "exe_a"))
	earlier := box.Execution("exe_a")
	c.did("write-stdin", earlier.WriteStdin(ctx, []byte("x"), true))
	c.did("signal-execution", earlier.Signal(ctx, 15))
	c.did("resize-execution", earlier.Resize(ctx, yurtclient.TerminalSize{Rows: 1, Cols: 2}))
	keepAll(c, "watch-execution", earlier.Events(ctx))
	request := yurtclient.TerminalRequest{Command: "ls", Cwd: "/", Size: yurtclient.TerminalSize{Rows: 1, Cols: 2}, ExecutionID: "exe_a", After: 3}
	_, _ = box.Terminal(ctx, request) // the test's server opens no terminal
}

func (c *caller) inside() {
	ctx, box := c.ctx, c.box
	question := yurt.Question{Code: "p", Cursor: ptr(1), Detail: 1, Language: "python", Timeout: 1}
	keep[[]yurt.Context](c, "list-contexts")(box.Contexts(ctx, yurtclient.ContextFilter{Language: "python"}))
	keep[yurt.Completion](c, "complete-in-context")(box.Complete(ctx, "c", yurt.Question{Code: "p", Cursor: ptr(1), Language: "python", Timeout: 1}))
	keep[yurt.Inspection](c, "inspect-in-context")(box.Inspect(ctx, "c", question))
	c.did("restart-context", box.RestartContext(ctx, "c", "python"))
	c.did("delete-context", box.RemoveContext(ctx, "c", "python"))
	keep[[]yurt.Process](c, "list-processes")(box.Processes(ctx, yurtclient.ProcessFilter{ExecutionID: "exe_a"}))
	c.did("signal-process", box.SignalProcess(ctx, 1, 15))
	c.did("kill-process", box.KillProcess(ctx, 1))
}

func (c *caller) files() {
	ctx, box, client := c.ctx, c.box, c.client
	options := yurt.WriteOptions{Append: true, Mode: 0o600}
	keep[yurt.FileInfo](c, "put-file")(client.WriteFile(ctx, box.ID, "a", bytes.NewReader([]byte("x")), options))
	keep[yurt.FileInfo](c, "put-file")(box.Files.WriteIf(ctx, "a", nil, condition()))
	keep[yurt.FileInfo](c, "put-file")(box.Files.MakeDir(ctx, "d"))
	keepAll(c, "list-files", box.Files.List(ctx, "", 2))
	keep[yurt.FileInfo](c, "list-files")(box.Files.Stat(ctx, "a"))
	keep[yurt.FileInfo](c, "change-file")(box.Files.Move(ctx, "a", "b", true))
	keep[yurt.FileInfo](c, "change-file")(box.Files.Chmod(ctx, "a", 0o600))
	c.did("delete-file", client.RemoveFile(ctx, box.ID, "a", true))
	_, err := box.Files.ReadPart(ctx, "a", yurt.Span{Offset: 1, Length: 2})
	c.did("get-file", err)
	c.did("watch-files", client.WatchFiles(ctx, box.ID, "d", true, nil, func(event yurt.FileEvent) error {
		keep[yurt.FileEvent](c, "watch-files")(event, nil)
		return nil
	}))
	archive, err := box.Files.Pack(ctx, "d")
	if c.did("archive-files", err); err == nil {
		c.did("archive-files", archive.Close())
	}
	keep[yurt.Unpacked](c, "archive-files")(box.Files.Unpack(ctx, bytes.NewReader(nil), "d"))
}

func (c *caller) end() {
	keep[yurt.Session](c, "end-session")(c.box.Kill(c.ctx, yurtclient.DeleteResults))
}
