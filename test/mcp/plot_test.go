package mcp_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt/controller/mcp"
)

func toolNames() []string { return mcp.ToolNames() }

// server is a server in the configuration of a client.
type server struct {
	Command string
	Args    []string
	Env     map[string]string
	URL     string
}

// transport returns the transport by which a client reaches the one server of a configuration.
func transport(t *testing.T, configuration []byte) sdk.Transport {
	t.Helper()
	var members map[string]map[string]server
	if err := json.Unmarshal(configuration, &members); err != nil {
		t.Fatal(err)
	}
	for servers := range maps.Values(members) {
		found := servers["yurt"]
		if found.URL != "" {
			return &sdk.StreamableClientTransport{Endpoint: found.URL}
		}
		cmd := exec.CommandContext(t.Context(), found.Command, found.Args...)
		cmd.Env = append(os.Environ(), "YURT_URL=")
		for name, value := range found.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		return &sdk.CommandTransport{Command: cmd}
	}
	t.Fatalf("there is no server in %s", configuration)
	return nil
}

// plot asks the server of a configuration for a plot, with the package that draws it.
func plot(t *testing.T, configuration []byte) {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "plotter", Version: "1"}, nil).Connect(t.Context(), transport(t, configuration), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	drawn, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_code", Arguments: map[string]any{
		"code": "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()", "dependencies": []string{"matplotlib"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	images := 0
	for _, content := range drawn.Content {
		if image, is := content.(*sdk.ImageContent); is && bytes.HasPrefix(image.Data, []byte("\x89PNG")) {
			images++
		}
	}
	if images != 1 {
		t.Fatalf("the answer holds %d images, expected the plot: %+v", images, drawn.StructuredContent)
	}
	out, _ := drawn.StructuredContent.(map[string]any)
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "terminate_sandbox", Arguments: map[string]any{"sandbox_id": out["sandbox_id"]}}); err != nil {
		t.Error(err)
	}
}
