package mcp

import (
	"context"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const maxLogs = 1 << 20 // bytes of logs in an answer

func getLogs() tool {
	return tool{
		name: "get_logs", title: "Get logs", kind: reads,
		description: "Returns the newest output of all executions of a sandbox, also while they run: 64 KiB unless limit says otherwise.",
	}
}

type logsInput struct {
	SandboxID string `json:"sandbox_id"`
	Limit     *int   `json:"limit,omitempty" jsonschema:"Bytes at most, 1 to 1048576. Default 65536."`
}

type (
	logsOutput struct {
		Entries   []logOutput `json:"entries" jsonschema:"The newest last."`
		Truncated bool        `json:"truncated" jsonschema:"There was more before."`
	}
	logOutput struct {
		ExecutionID string    `json:"execution_id"`
		Stream      string    `json:"stream" jsonschema:"stdout or stderr"`
		At          time.Time `json:"at"`
		Text        string    `json:"text" jsonschema:"Bytes that are not UTF-8 are replaced."`
	}
)

func (s *Server) getLogs(ctx context.Context, _ call, in logsInput) (logsOutput, []sdk.Content, error) {
	limit, err := within("limit", in.Limit, defaultRead, maxLogs)
	if err != nil {
		return logsOutput{}, nil, err
	}
	entries, truncated, err := s.config.Executions.Logs(ctx, in.SandboxID, limit)
	if err != nil {
		return logsOutput{}, nil, err
	}
	out := logsOutput{Entries: []logOutput{}, Truncated: truncated}
	var all strings.Builder
	for _, e := range entries {
		text := strings.ToValidUTF8(string(e.Data), "�")
		out.Entries = append(out.Entries, logOutput{ExecutionID: e.ExecutionID, Stream: string(e.Type), At: e.At, Text: text})
		all.WriteString(text)
	}
	if all.Len() == 0 {
		all.WriteString("There is no output yet.")
	}
	return out, []sdk.Content{&sdk.TextContent{Text: all.String()}}, nil
}
