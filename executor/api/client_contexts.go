package api

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// Contexts implements [Node].
func (c *Client) Contexts(ctx context.Context, sandboxID string) ([]yurt.Context, error) {
	res, err := c.contexts.List(ctx, &proto.ListContextsRequest{SandboxId: sandboxID})
	if err != nil {
		return nil, err
	}
	return wire.DecodeAll[yurt.Context](res.GetContexts())
}

// RestartContext implements [Node].
func (c *Client) RestartContext(ctx context.Context, sandboxID, name, language string) error {
	_, err := c.contexts.Restart(ctx, &proto.RestartContextRequest{SandboxId: sandboxID, Name: name, Language: language})
	return err
}

// RemoveContext implements [Node].
func (c *Client) RemoveContext(ctx context.Context, sandboxID, name, language string) error {
	_, err := c.contexts.Remove(ctx, &proto.RemoveContextRequest{SandboxId: sandboxID, Name: name, Language: language})
	return err
}

// AskContext implements [Node].
func (c *Client) AskContext(ctx context.Context, sandboxID, name string, question yurt.Question) (yurt.Answer, error) {
	data, err := wire.Encode(question)
	if err != nil {
		return yurt.Answer{}, err
	}
	res, err := c.contexts.Ask(ctx, &proto.AskContextRequest{SandboxId: sandboxID, Name: name, Question: data})
	if err != nil {
		return yurt.Answer{}, err
	}
	var answer yurt.Answer
	err = wire.DecodeAnswer(res.GetAnswer(), &answer)
	return answer, err
}
