package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// container looks at the sandbox of a session.
func container(ctx context.Context, p *play, s *step) (any, error) {
	client := p.client
	found, err := client.Containers(ctx, yurtclient.ContainerFilter{SessionID: p.named[s.In].ID})
	if err != nil || len(found) != 1 {
		return nil, errors.Join(err, fmt.Errorf("the session has %d sandboxes; expected one", len(found)))
	}
	id := found[0].ID
	health, err := yurtclient.ContainerHealth(ctx, client, id)
	if err != nil {
		return nil, err
	}
	entries, _, err := yurtclient.ContainerLogs(ctx, client, id, 0)
	var text, followed strings.Builder
	for i := range entries {
		text.Write(entries[i].Data)
	}
	enough := errors.New("one entry is enough")
	followErr := yurtclient.FollowContainerLogs(ctx, client, id, 0, func(entry yurt.LogEntry) error {
		followed.Write(entry.Data)
		return enough
	})
	if !errors.Is(followErr, enough) {
		err = errors.Join(err, fmt.Errorf("following the log: %w", followErr))
	}
	return object{
		"answers": health.InitAnswers, "oom_kills": health.OOMKills, "limit": health.Usage.MemoryLimitBytes, "text": text.String(), "followed": followed.String(),
	}, err
}
