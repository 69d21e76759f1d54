package python

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// contextFields returns the attributes of the handler's context, as AWS Lambda
// documents them for Python, overridden by those of the request. Attributes that AWS
// does not know are allowed; methods cannot be replaced.
func contextFields(req plugins.PlanRequest, handler string) (map[string]any, error) {
	function := handler[strings.LastIndexByte(handler, '.')+1:]
	fields := map[string]any{
		"function_name":        function,
		"function_version":     "$LATEST",
		"invoked_function_arn": "arn:aws:lambda:us-east-1:000000000000:function:" + function,
		"memory_limit_in_mb":   req.MemoryLimit >> 20,
		"aws_request_id":       req.ExecutionID,
		"log_group_name":       "/aws/lambda/" + function,
		"log_stream_name":      "[$LATEST]" + req.ExecutionID,
		"identity":             nil,
		"client_context":       nil,
	}
	if len(req.Context) == 0 {
		return fields, nil
	}
	if !utf8.Valid(req.Context) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "context", "the context is not UTF-8, as JSON must be")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(req.Context, &given); err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "context", "the context is not a JSON object: %w", err)
	}
	for key, value := range given {
		if err := checkField(key, value); err != nil {
			return nil, err
		}
		fields[key] = value
	}
	return fields, nil
}

func checkField(key string, value json.RawMessage) error {
	field := "context." + key
	switch {
	case key == "get_remaining_time_in_millis" || key == "log" || key == "" || key[0] == '_':
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%q cannot be overridden; the remaining time follows the timeout of the execution", key)
	case key == "identity" || key == "client_context":
		if value[0] != '{' && string(value) != "null" {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%s must be an object or null", key)
		}
	}
	return nil
}
