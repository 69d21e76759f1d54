package mcp

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
)

const (
	defaultRead  = 64 << 10 // bytes of a file that an answer holds, unless the client says otherwise
	maxRead      = 1 << 20
	maxDownload  = 8 << 20
	defaultFiles = 200 // entries of a list
)

func writeFile() tool {
	return tool{
		name: "write_file", title: "Write a text file", kind: replaces,
		description: "Writes text to a file below /workspace of a sandbox. It replaces the file, or adds to it with append. Directories are made.",
	}
}

func readFile() tool {
	return tool{
		name: "read_file", title: "Read a text file", kind: reads,
		description: "Reads a file of text below /workspace of a sandbox, 64 KiB at once; next_offset says where to go on. For other files see download_file.",
	}
}

func listFiles() tool {
	return tool{name: "list_files", title: "List files", kind: reads, description: "Lists a directory below /workspace of a sandbox."}
}

func uploadFile() tool {
	return tool{
		name: "upload_file", title: "Upload a file", kind: replaces,
		description: "Writes bytes, given in base64, to a file below /workspace of a sandbox. A large file is sent in pieces, with append from the second on.",
	}
}

func downloadFile() tool {
	return tool{
		name: "download_file", title: "Download a file", kind: reads,
		description: "Returns a file below /workspace of a sandbox: an image to look at, or else its bytes in base64, up to 1 MiB at once. Its resource_uri names the whole file.",
	}
}

type fileInput struct {
	SandboxID string `json:"sandbox_id"`
	Path      string `json:"path" jsonschema:"Relative to /workspace."`
	Text      string `json:"text"`
	Append    bool   `json:"append,omitempty" jsonschema:"Add to the file, in place of replacing it."`
	Mode      *mode  `json:"mode,omitempty" jsonschema:"Permission bits, three octal digits such as 755. Default 644."`
	IfMatch   string `json:"if_match,omitempty" jsonschema:"Replace the file only if this is its etag, so that no other change is lost; * for any file that is there. Not with append."`
	IfAbsent  bool   `json:"if_absent,omitempty" jsonschema:"Write only a file that is not there. Not with append."`
}

// fileOutput describes a file.
type fileOutput struct {
	Path       string    `json:"path" jsonschema:"Relative to /workspace."`
	Type       string    `json:"type" jsonschema:"file, directory, link or other"`
	Size       int64     `json:"size" jsonschema:"Bytes."`
	Mode       string    `json:"mode"`
	ModifiedAt time.Time `json:"modified_at"`
	Target     string    `json:"target,omitempty" jsonschema:"Of a link."`
	ETag       string    `json:"etag,omitempty" jsonschema:"Changes with the content; if_match of a later write takes it."`
	URI        string    `json:"resource_uri,omitempty" jsonschema:"The resource that is the whole file."`
}

func newFileOutput(sandboxID string, info yurt.FileInfo) fileOutput {
	out := fileOutput{
		Path: info.Path, Type: string(info.Type), Size: info.Size, Mode: info.Mode.String(), ModifiedAt: info.ModTime, Target: info.Target, ETag: info.ETag,
	}
	if info.Type == yurt.FileRegular || info.Type == "" {
		out.Type, out.URI = string(yurt.FileRegular), fileURI(sandboxID, info.Path)
	}
	return out
}

func (s *Server) writeFile(ctx context.Context, _ call, in fileInput) (fileOutput, []sdk.Content, error) {
	return s.put(ctx, in.SandboxID, in.Path, strings.NewReader(in.Text), writing{in.Append, in.Mode, in.IfMatch, in.IfAbsent})
}

type uploadInput struct {
	SandboxID string     `json:"sandbox_id"`
	Path      string     `json:"path" jsonschema:"Relative to /workspace."`
	Data      base64Data `json:"data_base64" jsonschema:"The bytes, in base64."`
	Append    bool       `json:"append,omitempty" jsonschema:"Add to the file, in place of replacing it."`
	Mode      *mode      `json:"mode,omitempty" jsonschema:"Permission bits, three octal digits such as 755. Default 644."`
	IfMatch   string     `json:"if_match,omitempty" jsonschema:"Replace the file only if this is its etag, so that no other change is lost; * for any file that is there. Not with append."`
	IfAbsent  bool       `json:"if_absent,omitempty" jsonschema:"Write only a file that is not there. Not with append."`
}

func (s *Server) uploadFile(ctx context.Context, _ call, in uploadInput) (fileOutput, []sdk.Content, error) {
	return s.put(ctx, in.SandboxID, in.Path, bytes.NewReader(in.Data), writing{in.Append, in.Mode, in.IfMatch, in.IfAbsent})
}

// writing says how a file is written.
type writing struct {
	appends  bool
	mode     *mode
	ifMatch  string
	ifAbsent bool
}

func (w writing) options() (yurt.WriteOptions, error) {
	options := yurt.WriteOptions{Append: w.appends}
	if w.mode != nil {
		options.Mode = yurt.FileMode(*w.mode)
	}
	if w.ifMatch != "" {
		options.If.Match = []string{w.ifMatch}
	}
	if w.ifAbsent {
		options.If.NoneMatch = []string{"*"}
	}
	if w.appends && !options.If.IsZero() {
		return options, yurt.FieldErrorf(yurt.CodeInvalidArgument, "if_match", "only a file that is replaced can have a condition; leave if_match and if_absent out, or append")
	}
	return options, nil
}

func (s *Server) put(ctx context.Context, sandboxID, name string, content io.Reader, w writing) (fileOutput, []sdk.Content, error) {
	options, err := w.options()
	if err != nil {
		return fileOutput{}, nil, err
	}
	info, err := s.config.Files.WriteFile(ctx, sandboxID, name, content, options)
	return newFileOutput(sandboxID, info), nil, err
}

type readInput struct {
	SandboxID string `json:"sandbox_id"`
	Path      string `json:"path" jsonschema:"Relative to /workspace."`
	Offset    int64  `json:"offset,omitempty" jsonschema:"Byte to begin at. Default 0."`
	Limit     *int   `json:"limit,omitempty" jsonschema:"Bytes at most, 1 to 1048576. Default 65536."`
}

type readOutput struct {
	Path       string `json:"path"`
	Size       int64  `json:"size" jsonschema:"Bytes of the whole file."`
	Text       string `json:"text"`
	NextOffset int64  `json:"next_offset,omitempty" jsonschema:"Where the rest begins, if there is more."`
	ETag       string `json:"etag,omitempty" jsonschema:"Changes with the content; if_match of a later write takes it."`
	URI        string `json:"resource_uri"`
}

func (s *Server) readFile(ctx context.Context, _ call, in readInput) (readOutput, []sdk.Content, error) {
	data, info, err := s.readPart(ctx, in, defaultRead)
	if err != nil {
		return readOutput{}, nil, err
	}
	end := in.Offset + int64(len(data))
	if end < info.Size { // a character that the end cuts comes with the next part
		for i := 1; i < utf8.UTFMax && i < len(data); i++ {
			if cut := data[:len(data)-i]; utf8.Valid(cut) && !utf8.Valid(data) {
				data, end = cut, end-int64(i)
			}
		}
	}
	if !isText(data) {
		return readOutput{}, nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "path", "the file is not text in UTF-8; download_file returns its bytes")
	}
	out := readOutput{Path: info.Path, Size: info.Size, Text: string(data), ETag: info.ETag, URI: fileURI(in.SandboxID, info.Path)}
	content := []sdk.Content{&sdk.TextContent{Text: out.Text}}
	if end < info.Size {
		out.NextOffset = end
		content = append(content, &sdk.TextContent{Text: "The file has " + strconv.FormatInt(info.Size, 10) + " bytes; go on with offset " + strconv.FormatInt(end, 10) + "."})
	}
	return out, content, nil
}

// readPart reads a part of a file, which an answer has room for.
func (s *Server) readPart(ctx context.Context, in readInput, otherwise int) ([]byte, yurt.FileInfo, error) {
	limit, err := within("limit", in.Limit, otherwise, maxRead)
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	if in.Offset < 0 {
		return nil, yurt.FileInfo{}, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "offset", "%d is out of range; give 0 or more", in.Offset)
	}
	span := yurt.Span{Offset: in.Offset, Length: int64(limit)}
	if in.Offset == 0 {
		span = yurt.Span{} // an empty file has no part, but it can be read
	}
	content, info, err := s.config.Files.ReadFile(ctx, in.SandboxID, in.Path, span)
	if err != nil {
		return nil, info, err
	}
	defer content.Close()
	data, err := io.ReadAll(io.LimitReader(content, int64(limit)))
	return data, info, err
}

type downloadOutput struct {
	Path       string     `json:"path"`
	Size       int64      `json:"size" jsonschema:"Bytes of the whole file."`
	MIMEType   string     `json:"mime_type"`
	Data       base64Data `json:"data_base64,omitempty" jsonschema:"The bytes, unless the file is an image, which is in the content."`
	NextOffset int64      `json:"next_offset,omitempty" jsonschema:"Where the rest begins, if there is more."`
	URI        string     `json:"resource_uri"`
}

func (s *Server) downloadFile(ctx context.Context, _ call, in readInput) (downloadOutput, []sdk.Content, error) {
	if mimeType := mimeTypeOf(in.Path, nil); in.Offset == 0 && in.Limit == nil && isImage(mimeType) {
		data, info, err := s.readWhole(ctx, in.SandboxID, in.Path, maxDownload)
		if err != nil {
			return downloadOutput{}, nil, err
		}
		if is := imageTypeOf(data); is != "" {
			out := downloadOutput{Path: info.Path, Size: info.Size, MIMEType: is, URI: fileURI(in.SandboxID, info.Path)}
			return out, []sdk.Content{&sdk.ImageContent{Data: data, MIMEType: is}}, nil
		}
	}
	data, info, err := s.readPart(ctx, in, maxRead)
	if err != nil {
		return downloadOutput{}, nil, err
	}
	out := downloadOutput{Path: info.Path, Size: info.Size, MIMEType: mimeTypeOf(info.Path, data), Data: data, URI: fileURI(in.SandboxID, info.Path)}
	if end := in.Offset + int64(len(data)); end < info.Size {
		out.NextOffset = end
	}
	return out, nil, nil
}

// isImage reports whether models can see images of a type.
func isImage(mimeType string) bool {
	switch mimeType {
	case "image/png", "image/jpeg", "image/webp", "image/gif":
		return true
	default:
		return false
	}
}

type listFilesInput struct {
	SandboxID string `json:"sandbox_id"`
	Path      string `json:"path,omitempty" jsonschema:"The directory, relative to /workspace. Default /workspace itself."`
	Depth     *int   `json:"depth,omitempty" jsonschema:"Levels of directories, 1 to 128. Default 1."`
	Limit     *int   `json:"limit,omitempty" jsonschema:"Entries at most, 1 to 1000. Default 200."`
	After     string `json:"after,omitempty" jsonschema:"Go on after the entry with this path, the last one of the list before."`
}

type listFilesOutput struct {
	Files []fileOutput `json:"files"`
	More  bool         `json:"more" jsonschema:"There are more after the last one."`
}

func (s *Server) listFiles(ctx context.Context, _ call, in listFilesInput) (listFilesOutput, []sdk.Content, error) {
	limit, err := within("limit", in.Limit, defaultFiles, yurt.MaxListFiles)
	if err != nil {
		return listFilesOutput{}, nil, err
	}
	depth, err := within("depth", in.Depth, 1, yurt.MaxFileDepth)
	if err != nil {
		return listFilesOutput{}, nil, err
	}
	list, err := s.config.Files.ListFiles(ctx, in.SandboxID, in.Path, yurt.ListOptions{Depth: depth, Limit: limit, After: in.After})
	if err != nil {
		return listFilesOutput{}, nil, err
	}
	out := listFilesOutput{Files: []fileOutput{}, More: list.More}
	for _, info := range list.Files {
		out.Files = append(out.Files, newFileOutput(in.SandboxID, info))
	}
	return out, nil, nil
}
