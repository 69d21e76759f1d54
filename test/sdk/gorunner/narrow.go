package main

import (
	"context"
	"errors"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// narrow counts what lists hold that are narrowed so that they match, or do not.
func narrow(ctx context.Context, p *play, s *step) (any, error) {
	box, hour := p.named[s.In], time.Hour
	nodes, err := p.client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	counted := object{}
	for _, filter := range []yurtclient.SessionFilter{{}, {State: yurt.SessionPaused}, {CreatedAfter: time.Now().Add(hour)}, {CreatedBefore: time.Now().Add(hour)}} {
		filter.IDPrefix = box.ID
		page, err := p.client.Sessions(ctx, filter)
		if err != nil {
			return nil, err
		}
		note(counted, "sessions", len(page.Sessions))
	}
	for _, filter := range []yurtclient.ContainerFilter{{}, {State: yurt.SandboxDead}, {Template: "absent"}, {Node: "absent"}} {
		filter.SessionID = box.ID
		found, err := p.client.Containers(ctx, filter)
		if err != nil {
			return nil, err
		}
		note(counted, "containers", len(found))
	}
	for _, healthy := range []bool{true, false} {
		found, err := p.client.Nodes(ctx, yurtclient.NodeFilter{NamePrefix: nodes[0].Name, Healthy: &healthy, Draining: new(bool)})
		if err != nil {
			return nil, err
		}
		note(counted, "nodes", len(found))
	}
	for _, filter := range []yurtclient.ExecutionFilter{{CreatedAfter: time.Now().Add(-hour)}, {CreatedBefore: time.Now().Add(-hour)}} {
		count := 0
		for _, err := range box.Executions(ctx, filter) {
			if count++; err != nil {
				return nil, err
			}
		}
		note(counted, "executions", count > 0)
	}
	return counted, narrowParts(ctx, p.client, box, counted)
}

// narrowParts counts the smaller lists.
func narrowParts(ctx context.Context, client *yurtclient.Client, box *yurtclient.Sandbox, counted object) error {
	for _, language := range []string{"python", "absent"} {
		runtimes, runtimesErr := client.Runtimes(ctx, yurtclient.RuntimeFilter{Language: language})
		contexts, err := box.Contexts(ctx, yurtclient.ContextFilter{Language: language})
		if err := errors.Join(runtimesErr, err); err != nil {
			return err
		}
		note(counted, "runtimes", len(runtimes))
		note(counted, "contexts", len(contexts) > 0)
	}
	latest, latestErr := box.Latest(ctx)
	pools, poolsErr := client.Pools(ctx, yurtclient.PoolFilter{TemplatePrefix: "absent"})
	processes, err := box.Processes(ctx, yurtclient.ProcessFilter{ExecutionID: latest.ID})
	counted["pools"], counted["processes"] = len(pools), len(processes)
	return errors.Join(latestErr, poolsErr, err)
}

func note(counted object, of string, found any) {
	list, _ := counted[of].([]any)
	counted[of] = append(list, found)
}
