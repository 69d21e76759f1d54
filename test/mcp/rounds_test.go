package mcp_test

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tools of this file ask the client in their answers, and the client calls again with the answers
// that it has. Their state comes back with the call, so it is signed.

type signer struct{ key []byte }

func (s signer) sign(state string) string { return state + "." + s.sum(state) }

func (s signer) sum(state string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(state))
	return hex.EncodeToString(mac.Sum(nil))
}

// open returns the state that was signed, or an error for any other.
func (s signer) open(signed string) (string, error) {
	dot := strings.LastIndexByte(signed, '.')
	if dot < 0 || !hmac.Equal([]byte(signed[dot+1:]), []byte(s.sum(signed[:dot]))) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requestState is not one of this server"}
	}
	return signed[:dot], nil
}

func asks(requests sdk.InputRequestMap, state string) *result {
	return &result{InputRequests: requests, RequestState: state}
}

func elicit(message, schema string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}
}

const nameSchema = `{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}`

func sample(question string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: question}}}, MaxTokens: 100}
}

// accepted returns the answer of a person, or nil.
func accepted(responses sdk.InputResponseMap, key string) map[string]any {
	if answer, is := responses[key].(*sdk.ElicitResult); is && answer != nil && answer.Action == "accept" {
		return answer.Content
	}
	return nil
}

func sampled(responses sdk.InputResponseMap, key string) (string, bool) {
	answer, is := responses[key].(*sdk.CreateMessageWithToolsResult)
	if !is || answer == nil {
		return "", false
	}
	for _, content := range answer.Content {
		if text, is := content.(*sdk.TextContent); is {
			return text.Text, true
		}
	}
	return "", false
}

func addRounds(server *sdk.Server) {
	states := signer{[]byte(rand.Text())}
	addSingleRounds(server)
	addStates(server, states)
	add(server, "test_input_required_result_multi_round", func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
		if req.Params.RequestState == "" {
			return asks(sdk.InputRequestMap{"step1": elicit("What is your name?", nameSchema)}, states.sign("round=1")), nil
		}
		state, err := states.open(req.Params.RequestState)
		if err != nil {
			return nil, err
		}
		if state == "round=1" {
			name, _ := accepted(req.Params.InputResponses, "step1")["name"].(string)
			color := `{"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}`
			return asks(sdk.InputRequestMap{"step2": elicit("What is your favorite color?", color)}, states.sign("name="+name)), nil
		}
		color, _ := accepted(req.Params.InputResponses, "step2")["color"].(string)
		return said("%s likes %s", strings.TrimPrefix(state, "name="), color), nil
	})
	add(server, "test_input_required_result_multiple_inputs", func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
		answers := req.Params.InputResponses
		name, _ := accepted(answers, "user_name")["name"].(string)
		greeting, greeted := sampled(answers, "greeting")
		roots, rooted := answers["client_roots"].(*sdk.ListRootsResult)
		if name != "" && greeted && rooted {
			return said("%s %s, %d roots", greeting, name, len(roots.Roots)), nil
		}
		return asks(sdk.InputRequestMap{
			"user_name": elicit("What is your name?", nameSchema), "greeting": sample("Generate a greeting"), "client_roots": &sdk.ListRootsParams{},
		}, states.sign("inputs")), nil
	})
	server.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "Asks for the context."}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if answer := accepted(req.Params.InputResponses, "user_context"); answer != nil {
			text, _ := answer["context"].(string)
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": elicit("Please give the context",
			`{"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}`)}}, nil
	})
}

// addSingleRounds adds the tools that ask once, and keep no state.
func addSingleRounds(server *sdk.Server) {
	add(server, "test_input_required_result_elicitation", func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
		if name, _ := accepted(req.Params.InputResponses, "user_name")["name"].(string); name != "" {
			return said("Hello, %s!", name), nil
		}
		return asks(sdk.InputRequestMap{"user_name": elicit("What is your name?", nameSchema)}, ""), nil
	})
	add(server, "test_input_required_result_sampling", func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
		if text, is := sampled(req.Params.InputResponses, "capital_question"); is {
			return said("Sampling response: %s", text), nil
		}
		return asks(sdk.InputRequestMap{"capital_question": sample("What is the capital of France?")}, ""), nil
	})
	add(server, "test_input_required_result_list_roots", func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
		if roots, is := req.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); is {
			return said("The client has %d roots", len(roots.Roots)), nil
		}
		return asks(sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}}, ""), nil
	})
	add(server, "test_input_required_result_capabilities", func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
		if len(req.Params.InputResponses) > 0 {
			return said("done"), nil
		}
		able, requests := req.ClientCapabilities(), sdk.InputRequestMap{}
		if able != nil && able.Elicitation != nil {
			requests["user_name"] = elicit("What is your name?", nameSchema)
		}
		if able != nil && able.Sampling != nil {
			requests["greeting"] = sample("Generate a short greeting")
		}
		if len(requests) == 0 {
			return said("the client answers no questions"), nil
		}
		return asks(requests, ""), nil
	})
}

// addStates adds the tools whose state must come back as it was.
func addStates(server *sdk.Server, states signer) {
	for _, name := range []string{"test_input_required_result_request_state", "test_input_required_result_tampered_state"} {
		add(server, name, func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
			if req.Params.RequestState != "" {
				if _, err := states.open(req.Params.RequestState); err != nil {
					return nil, err
				}
				if accepted(req.Params.InputResponses, "confirm") != nil {
					return said("state-ok: requestState received and confirmation accepted"), nil
				}
			}
			confirm := `{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}`
			return asks(sdk.InputRequestMap{"confirm": elicit("Please confirm", confirm)}, states.sign("asked")), nil
		})
	}
}
