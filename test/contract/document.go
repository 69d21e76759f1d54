package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documentURL names the document among the resources of the compiler of schemas.
const documentURL = "openapi.json"

// Document is an OpenAPI document. It is safe for concurrent use.
type Document struct {
	routes []route

	mu       sync.Mutex // guards the fields below
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by their place in the document
}

// route is one operation, with the segments of its path.
type route struct {
	method   string
	path     string
	segments []string
	op       operation
}

type operation struct {
	Responses map[string]response `json:"responses"`
}

type response struct {
	Content map[string]struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"content"`
}

// Fetch reads the document of the server at url.
func Fetch(ctx context.Context, url string) (*Document, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/openapi.json", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("asking for the OpenAPI document: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking for the OpenAPI document: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	return Parse(text)
}

// Parse reads a document.
func Parse(text []byte) (*Document, error) {
	var outline struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(text, &outline); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	d := &Document{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	d.compiler.AssertContent()
	if err := d.compiler.AddResource(documentURL, whole); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	for path, verbs := range outline.Paths {
		for verb, op := range verbs {
			d.routes = append(d.routes, route{strings.ToUpper(verb), path, strings.Split(path, "/"), op})
		}
	}
	// A path without parameters is meant before one with them, as the server has it.
	slices.SortFunc(d.routes, func(a, b route) int {
		return strings.Compare(strings.ReplaceAll(a.path, "{", "~"), strings.ReplaceAll(b.path, "{", "~"))
	})
	return d, nil
}

// find returns the operation that a request is for.
func (d *Document) find(method string, target *url.URL) (route, bool) {
	segments := strings.Split(target.EscapedPath(), "/")
	for _, r := range d.routes {
		if r.method == method && r.matches(segments) {
			return r, true
		}
	}
	return route{}, false
}

// matches compares segment by segment. The path of a file takes the rest, which OpenAPI cannot say.
func (r route) matches(segments []string) bool {
	rest := strings.HasSuffix(r.path, "/files/{path}") && len(segments) > len(r.segments)
	if len(segments) != len(r.segments) && !rest {
		return false
	}
	for i, want := range r.segments {
		if !strings.HasPrefix(want, "{") && want != segments[i] {
			return false
		}
	}
	return true
}

// answer is the documented form of an answer that came.
type answer struct {
	schema *jsonschema.Schema // of the body, or of each event; nil without a schema
	kind   string             // media type
	empty  bool               // there must be no body
}

// expect returns the documented form of an answer to a request.
func (d *Document) expect(method string, target *url.URL, status int, header http.Header) (answer, error) {
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type")) // "" where there is none
	r, known := d.find(method, target)
	if !known {
		if status < http.StatusBadRequest && !isPage(target.Path) {
			return answer{}, fmt.Errorf("the document has no such operation, and the answer is %d", status)
		}
		return answer{kind: kind}, nil
	}
	name := strconv.Itoa(status)
	documented, exact := r.op.Responses[name]
	if !exact {
		name = "default"
		if documented, exact = r.op.Responses[name]; !exact || status < http.StatusBadRequest {
			return answer{}, fmt.Errorf("the document has no status %d for it, but %v", status, slices.Sorted(maps.Keys(r.op.Responses)))
		}
	}
	if len(documented.Content) == 0 {
		return answer{empty: true}, nil
	}
	media, has := documented.Content[kind]
	if !has {
		return answer{}, fmt.Errorf("the document has no content type %q for status %d, but %v", kind, status, slices.Sorted(maps.Keys(documented.Content)))
	}
	if len(media.Schema) == 0 || !isJSON(kind) && kind != eventStream {
		return answer{kind: kind}, nil
	}
	place := "#/" + strings.Join([]string{"paths", escape(r.path), strings.ToLower(r.method), "responses", name, "content", escape(kind), "schema"}, "/")
	schema, err := d.compile(place)
	return answer{schema: schema, kind: kind}, err
}

// isPage reports whether the path is one that the server has beside the operations that it
// documents.
func isPage(path string) bool {
	return path == "/" || path == "/metrics" || path == "/openapi.json" || path == "/docs" || strings.HasPrefix(path, "/docs/")
}

func isJSON(kind string) bool { return kind == "application/json" || strings.HasSuffix(kind, "+json") }

// escape writes a member's name as a part of a JSON pointer in a URL.
func escape(name string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
}

func (d *Document) compile(place string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if schema, ok := d.schemas[place]; ok {
		return schema, nil
	}
	schema, err := d.compiler.Compile(documentURL + place)
	if err != nil {
		return nil, fmt.Errorf("reading a schema of the document: %w", err)
	}
	d.schemas[place] = schema
	return schema, nil
}
