package javascript

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// contextFields returns the members of the handler's context, as AWS Lambda documents
// them for Node, overridden by those of the request, which may be written in the
// manner of other languages (function_name). Members that AWS does not know are
// allowed; functions cannot be replaced.
func contextFields(req plugins.PlanRequest, function string) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	for name, value := range map[string]string{
		"functionName":       function,
		"functionVersion":    "$LATEST",
		"invokedFunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:" + function,
		"memoryLimitInMB":    strconv.FormatInt(int64(req.MemoryLimit>>20), 10),
		"awsRequestId":       req.ExecutionID,
		"logGroupName":       "/aws/lambda/" + function,
		"logStreamName":      "[$LATEST]" + req.ExecutionID,
	} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, yurt.Errorf(yurt.CodeInternal, "writing the handler's context: %w", err)
		}
		fields[name] = text
	}
	if len(req.Context) == 0 {
		return fields, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(req.Context, &given); err != nil || !utf8.Valid(req.Context) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "context", "the context is not a JSON object in UTF-8")
	}
	for key, value := range given {
		name := camelCase(key)
		switch name {
		case "getRemainingTimeInMillis", "done", "succeed", "fail", "", "__proto__":
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "context."+key, "%q cannot be overridden; the remaining time follows the timeout of the execution", key)
		}
		fields[name] = value
	}
	return fields, nil
}

// camelCase returns AWS's name for Node of a member that is written for Python; members that
// Python's context lacks stay as they are.
func camelCase(key string) string {
	switch key {
	case "aws_request_id", "function_name", "function_version", "invoked_function_arn", "log_group_name", "log_stream_name", "client_context":
		words := strings.Split(key, "_")
		for i := 1; i < len(words); i++ {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
		return strings.Join(words, "")
	case "memory_limit_in_mb":
		return "memoryLimitInMB"
	}
	return key
}
