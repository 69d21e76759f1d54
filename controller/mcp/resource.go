package mcp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
)

// maxResource bounds the content of a resource, in bytes: an answer is held in memory.
const maxResource = 16 << 20

const (
	uriScheme    = "yurt"
	uriSession   = "session"
	uriExecution = "execution"
	textPlain    = "text/plain"
	typeJSON     = "application/json"
	typeOctets   = "application/octet-stream"
	partStdout   = "stdout"
	partStderr   = "stderr"
	partResult   = "result"
)

func (s *Server) addResources() {
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "sandbox-file", Title: "File of a sandbox", URITemplate: "yurt://session/{sandbox_id}/{+path}",
		Description: "A file below /workspace of a sandbox, of at most 16 MiB. Characters that a URI has no place for are percent-encoded.",
	}, s.readResource)
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "execution-output", Title: "Output of an execution", URITemplate: "yurt://execution/{sandbox_id}/{execution_id}/{part}",
		Description: "The output of an execution, of at most 16 MiB: part is stdout, stderr or result. It outlives the sandbox.",
	}, s.readResource)
}

// fileURI names a file of a sandbox. path is relative to the workspace.
func fileURI(sandboxID, file string) string {
	segments := strings.Split(strings.TrimPrefix(strings.TrimPrefix(file, yurt.WorkspaceDir+"/"), "/"), "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return uriScheme + "://" + uriSession + "/" + url.PathEscape(sandboxID) + "/" + strings.Join(segments, "/")
}

func executionURI(sandboxID, executionID, part string) string {
	return uriScheme + "://" + uriExecution + "/" + url.PathEscape(sandboxID) + "/" + url.PathEscape(executionID) + "/" + part
}

// readResource answers with a file or with the output of an execution.
func (s *Server) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	done, err := s.begin()
	if err != nil {
		return nil, resourceError(req.Params.URI, err)
	}
	defer done()
	data, mimeType, err := s.resource(ctx, req)
	if err != nil {
		if yurt.CodeOf(err) == yurt.CodeInternal {
			s.log.ErrorContext(ctx, "MCP resource not read", "error", err)
		}
		return nil, resourceError(req.Params.URI, err)
	}
	contents := &sdk.ResourceContents{URI: req.Params.URI, MIMEType: mimeType}
	switch {
	case len(data) == 0:
		contents.Blob = []byte{} // the library leaves out a text that is empty, and then the contents have neither
	case isText(data):
		contents.Text = string(data)
	default:
		contents.Blob = data
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{contents}}, nil
}

func (s *Server) resource(ctx context.Context, req *sdk.ReadResourceRequest) (data []byte, mimeType string, err error) {
	uri := req.Params.URI
	parsed, err := url.Parse(uri)
	if err != nil || parsed.Scheme != uriScheme {
		return nil, "", sdk.ResourceNotFoundError(uri)
	}
	operation := operationOutput
	if parsed.Host == uriSession {
		operation = operationFile
	}
	ctx, leave, err := s.admit(ctx, req.Extra, operation)
	if err != nil {
		return nil, "", err
	}
	defer leave()
	sandboxID, rest, _ := strings.Cut(strings.TrimPrefix(parsed.Path, "/"), "/")
	switch parsed.Host {
	case uriSession:
		data, info, err := s.readWhole(ctx, sandboxID, rest, maxResource)
		return data, mimeTypeOf(info.Path, data), err
	case uriExecution:
		if executionID, part, found := strings.Cut(rest, "/"); found {
			return s.executionPart(ctx, sandboxID, executionID, part)
		}
	}
	return nil, "", sdk.ResourceNotFoundError(uri)
}

// readWhole reads a file that has at most so many bytes.
func (s *Server) readWhole(ctx context.Context, sandboxID, name string, limit int64) ([]byte, yurt.FileInfo, error) {
	content, info, err := s.config.Files.ReadFile(ctx, sandboxID, name, yurt.Span{})
	if err != nil {
		return nil, info, err
	}
	defer content.Close()
	data, err := io.ReadAll(io.LimitReader(content, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = yurt.FieldErrorf(yurt.CodeFileTooLarge, "path", "the file has more than the %s that an answer holds; read a part of it with read_file or download_file and an offset", yurt.Size(limit))
	}
	return data, info, err
}

func (s *Server) executionPart(ctx context.Context, sandboxID, executionID, part string) ([]byte, string, error) {
	execution, err := s.config.Executions.Execution(ctx, sandboxID, executionID)
	if err != nil {
		return nil, "", err
	}
	if execution.Result == nil {
		return nil, "", yurt.Errorf(yurt.CodeExecutionRunning, "execution %s has not ended; read it again later", executionID)
	}
	switch part {
	case partStdout:
		return outputOf(ctx, execution.Result, yurt.EventStdout)
	case partStderr:
		return outputOf(ctx, execution.Result, yurt.EventStderr)
	case partResult:
		return execution.Result.Result, typeJSON, nil
	default:
		return nil, "", yurt.FieldErrorf(yurt.CodeNotFound, "part", "an execution has no part of this name; give stdout, stderr or result")
	}
}

// outputOf returns a stream that has at most as many bytes as an answer holds.
func outputOf(ctx context.Context, result *yurt.Result, stream yurt.EventType) ([]byte, string, error) {
	if size := result.OutputBytes(stream); size > maxResource {
		return nil, "", yurt.FieldErrorf(yurt.CodeFileTooLarge, "part", "%s has %d bytes, and an answer holds %s; GET /api/v1/sessions/{id}/result has all of it, or have the program write to a file", stream, size, yurt.Size(maxResource))
	}
	text, err := result.TextAt(ctx, stream, 0, maxResource)
	return []byte(text), textPlain, err
}

// resourceError is an error of the protocol: a resource has no result that could hold it.
func resourceError(uri string, err error) error {
	var (
		coded *yurt.Error
		ready *jsonrpc.Error
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &coded) && coded.Code != yurt.CodeInternal:
		if failure := (*jsonrpc.Error)(nil); errors.As(sdk.ResourceNotFoundError(uri), &failure) {
			failure.Message = string(coded.Code) + ": " + coded.Message
			return failure
		}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server failed; its log says more"}
}

// isText reports whether a model can read data as text.
func isText(data []byte) bool { return utf8.Valid(data) && !strings.ContainsRune(string(data), 0) }

func mimeTypeOf(name string, data []byte) string {
	if byName := mime.TypeByExtension(path.Ext(name)); byName != "" {
		mediaType, _, _ := strings.Cut(byName, ";")
		return mediaType
	}
	if isText(data) {
		return textPlain
	}
	return typeOctets
}
