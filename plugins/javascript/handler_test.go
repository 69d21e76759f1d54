package javascript_test

import (
	"encoding/json"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/javascript"
)

func plan(t testing.TB, req plugins.PlanRequest) (plugins.Plan, error) {
	t.Helper()
	return javascript.Runtime{}.Plan(t.Context(), req)
}

// TestHandler calls handlers of every kind that AWS Lambda has.
func TestHandler(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		source, event, name string
		result              string
		errorType, message  string
	}{
		"async":                  {source: "exports.handler = async (event) => ({ hello: event.name })", event: `{"name":"world"}`, result: `{"hello":"world"}`},
		"ES module":              {source: "export const handler = async (event, context) => event.n + 1", event: `{"n":1}`, result: "2"},
		"ES module, awaits":      {source: "import 'fs';\nconst one = await Promise.resolve(1);\nexport function handler() { return one }", result: "1"},
		"default export":         {source: "export default { handler: () => 'default' }", result: `"default"`},
		"callback":               {source: "exports.handler = (event, context, callback) => setTimeout(() => callback(null, 'called'), 5)", result: `"called"`},
		"callback, an error":     {source: "exports.handler = (event, context, callback) => callback(new RangeError('no'))", errorType: "RangeError", message: "no"},
		"callback, late":         {source: "exports.handler = (e, c, callback) => { process.nextTick(callback, null, 1); setTimeout(() => {}, 1e6) }", result: "1"},
		"context.succeed":        {source: "exports.handler = (event, context, callback) => { context.succeed('done') }", result: `"done"`},
		"context.fail":           {source: "exports.handler = (event, context, callback) => { context.fail(new Error('failed')) }", errorType: "Error", message: "failed"},
		"returns":                {source: "exports.handler = () => [1, null]", result: "[1,null]"},
		"returns nothing":        {source: "exports.handler = () => {}", result: "null"},
		"another name":           {source: "exports.other = () => 5", name: "index.other", result: "5"},
		"module.exports":         {source: "module.exports = { handler: () => 6 }", result: "6"},
		"what it prints is none": {source: "exports.handler = () => { console.log('printed'); return 1 }", result: "1"},
		"throws":                 {source: "exports.handler = async () => { throw new TypeError('thrown') }", errorType: "TypeError", message: "thrown"},
		"not defined":            {source: "exports.other = () => 1; exports.more = () => 2", errorType: "HandlerNotFound", message: "main.js exports no function named handler; it exports other, more"},
		"no function":            {source: "exports.handler = 5", errorType: "HandlerNotFound", message: "main.js exports no function named handler; it exports no function"},
		"not serializable":       {source: "exports.handler = () => 1n", errorType: "ResultNotSerializable", message: "the result cannot be written as JSON: "},
		"cycle":                  {source: "exports.handler = () => { const a = {}; a.a = a; return a }", errorType: "ResultNotSerializable", message: "the result cannot be written as JSON: "},
		"too large":              {source: "exports.handler = () => 'x'.repeat(9 << 20)", errorType: "ResultTooLarge", message: "the result has 9437186 bytes"},
		"exits":                  {source: "exports.handler = () => process.exit(4)", errorType: "ProcessExit", message: "the handler exited with code 4"},
		"never finishes":         {source: "exports.handler = () => new Promise(() => {})", errorType: "HandlerNotFinished", message: "the handler neither"},
		"compile error":          {source: "exports.handler = (", errorType: yurt.ErrorTypeSyntax, message: "main.js:1:"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := handler(tt.source, tt.event)
			req.Handler = tt.name
			got := run(t, nil, req)
			checkError(t, got, tt.errorType, tt.message, nil)
			if tt.errorType == "" && (string(got.result) != tt.result || got.code != 0) {
				t.Errorf("result %s, exit code %d, stderr %s", got.result, got.code, got.stderr)
			}
		})
	}
}

// TestContext compares the context with the documentation of AWS Lambda.
func TestContext(t *testing.T) {
	t.Parallel()
	req := handler("exports.handler = async (event, context) => ({ ...context, left: context.getRemainingTimeInMillis() })", `{}`)
	req.Context = []byte(`{"function_name":"named","custom":[1],"memory_limit_in_mb":"64"}`)
	got := run(t, nil, req)
	var context map[string]any
	if err := json.Unmarshal(got.result, &context); err != nil {
		t.Fatalf("result %s: %v; %s", got.result, err, got.stderr)
	}
	for name, want := range map[string]any{
		"awsRequestId": "exe_test", "functionName": "named", "functionVersion": "$LATEST", "memoryLimitInMB": "64",
		"invokedFunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:handler", "logStreamName": "[$LATEST]exe_test",
		"callbackWaitsForEmptyEventLoop": true,
	} {
		if context[name] != want {
			t.Errorf("%s is %v, want %v", name, context[name], want)
		}
	}
	if left, _ := context["left"].(float64); left <= 0 || left > 10000 {
		t.Errorf("%v ms are left of 10 s", context["left"])
	}
}
