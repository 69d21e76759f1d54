package hcl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/wholenumber"
)

// ParseJSON reads one template in its JSON form, that of [yurt.Template]. It is as strict as [Parse]: unknown fields, fields
// given twice and text after the object are refused. A missing, null or zero field has its default. The template is complete and
// valid, or the error is an [*Error] with every problem, its field and its place in src.
func ParseJSON(src []byte) (yurt.Template, error) {
	var t yurt.Template
	d := &jsonDecoder{src: src, ranges: map[string]span{}, failed: map[string]bool{}}
	if d.syntax() {
		d.object("", span{0, len(src)}, templateFields(&t))
	}
	if !d.failed[""] {
		for _, fault := range faults(t) {
			switch at, ok := d.spanOf(fault.Field); {
			case d.failed[fault.Field]:
			case ok:
				d.report(at, fault)
			default: // for missing fields
				d.diags = append(d.diags, fieldProblem(nil, fault))
			}
		}
	}
	if len(d.diags) > 0 {
		return yurt.Template{}, newError(d.diags, map[string]*hcl.File{"": {Bytes: src}})
	}
	return WithDefaults(t), nil
}

// jsonFields says how to decode the members of an object: into nested ones, or into the target of a pointer.
type jsonFields map[string]any

func templateFields(t *yurt.Template) jsonFields {
	return jsonFields{
		"name":        &t.Name,
		"description": &t.Description,
		"rootfs":      jsonFields{"host_paths": &t.RootFS.HostPaths, "image": &t.RootFS.Image},
		"runtimes":    &t.Runtimes,
		"env":         &t.Env,

		"dependencies": &t.Dependencies,
		"kernels":      &t.Kernels,
		"preload":      &t.Preload,
		"resources": jsonFields{
			"cpu": &t.Resources.CPU, "memory": &t.Resources.Memory, "disk": &t.Resources.Disk, "pids": &t.Resources.PIDs,
			"disk_kind": &t.Resources.DiskKind, "io_weight": &t.Resources.IOWeight,
			"ulimits": jsonFields{"nofile": &t.Resources.Ulimits.NoFile, "fsize": &t.Resources.Ulimits.FSize, "stack": &t.Resources.Ulimits.Stack},
		},
		"isolation": jsonFields{"level": &t.Isolation.Level, "per_execution": &t.Isolation.PerExecution, "system_calls": &t.Isolation.SystemCalls},
		"network":   jsonFields{"mode": &t.Network.Mode, "packages": &t.Network.Packages},
		"session": jsonFields{
			"timeout": &t.Session.Timeout, "idle_timeout": &t.Session.IdleTimeout,
			"execution_timeout": &t.Session.ExecutionTimeout, "output_limit": &t.Session.OutputLimit,
		},
		"warm_pool": jsonFields{"min": &t.WarmPool.Min, "max": &t.WarmPool.Max, "idle_timeout": &t.WarmPool.IdleTimeout, "interpreter": &t.WarmPool.Interpreter},
	}
}

// jsonDecoder decodes a template member by member, to know where each stands and to
// go on after a wrong one.
type jsonDecoder struct {
	src    []byte
	diags  hcl.Diagnostics
	ranges map[string]span // of values, by field
	failed map[string]bool // fields whose values could not be used
}

// span is a part of the source, in bytes.
type span struct{ start, end int }

func (d *jsonDecoder) report(at span, fault *yurt.Error) {
	// Lines and columns are counted for shown diagnostics alone; see newDiagnostic.
	subject := hcl.Range{Start: hcl.Pos{Byte: at.start}, End: hcl.Pos{Byte: at.end}}
	d.diags = append(d.diags, fieldProblem(&subject, fault))
	d.failed[fault.Field] = true
}

// syntax reports whether the source is JSON. Later steps can then rely on it.
func (d *jsonDecoder) syntax() bool {
	at, message := d.syntaxFault()
	if message == "" {
		return true
	}
	d.report(span{at, at}, yurt.Errorf(yurt.CodeMalformedBody, "%s", message))
	return false
}

// syntaxFault says why the source is not JSON and where, or "".
func (d *jsonDecoder) syntaxFault() (at int, message string) {
	if len(d.src) > MaxSourceBytes {
		return 0, fmt.Sprintf("the body has %d bytes; at most %d are allowed", len(d.src), MaxSourceBytes)
	}
	if !utf8.Valid(d.src) {
		return 0, "the body is not valid UTF-8"
	}
	var discard json.RawMessage
	err := json.Unmarshal(d.src, &discard)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &syntax):
		// The offset is that after the byte that is wrong.
		return max(0, int(syntax.Offset)-1), "the body is not JSON: " + syntax.Error()
	default:
		return 0, "the body is not JSON: " + err.Error()
	}
}

// object decodes the members of the object at v.
func (d *jsonDecoder) object(path string, v span, fields jsonFields) {
	d.members(path, v, func(name string, key, value span) {
		field := join(path, name)
		into, ok := fields[name]
		if !ok {
			d.report(key, unknownMember(path, name, keysOf(fields)))
			return
		}
		d.ranges[field] = value
		switch into := into.(type) {
		case jsonFields:
			d.object(field, value, into)
		case *map[string]string:
			d.texts(field, value, into)
		case *[]string:
			d.list(field, value, into)
		case *map[string][]string:
			d.lists(field, value, into)
		default:
			d.leaf(field, value, into)
		}
	})
}

// members calls each for the members of the object at v, with the places of their keys and values. Null has no members, and a
// value that is no object is reported.
func (d *jsonDecoder) members(path string, v span, each func(name string, key, value span)) {
	raw := bytes.TrimLeft(d.src[v.start:v.end], " \t\r\n")
	if isNull(raw) && path != "" {
		return
	}
	if raw[0] != '{' {
		d.report(v, yurt.FieldErrorf(yurt.CodeInvalidArgument, path, "%s is not an object; give one such as {\"key\": …}", jsonKind(raw)))
		return
	}
	base := v.end - len(raw)
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token() // the brace; that the syntax is right is known
	seen := map[string]bool{}
	for dec.More() {
		key := span{start: base + int(dec.InputOffset())}
		key.start += len(d.src[key.start:]) - len(bytes.TrimLeft(d.src[key.start:], ", \t\r\n"))
		token, _ := dec.Token()
		name, _ := token.(string)
		key.end = base + int(dec.InputOffset())
		value := nextValue(dec, base)
		if seen[name] {
			d.report(key, yurt.FieldErrorf(yurt.CodeInvalidArgument, join(path, name), "the field is given twice; keep one"))
			continue
		}
		seen[name] = true
		each(name, key, value)
	}
}

// nextValue reads over the next value and returns its place.
func nextValue(dec *json.Decoder, base int) span {
	var raw json.RawMessage
	_ = dec.Decode(&raw) // the syntax is right
	end := base + int(dec.InputOffset())
	return span{end - len(raw), end}
}

// texts decodes an object of texts.
func (d *jsonDecoder) texts(field string, v span, into *map[string]string) {
	*into = map[string]string{}
	d.members(field, v, func(name string, _, value span) {
		path := field + member(name)
		d.ranges[path] = value
		var text *string
		if err := json.Unmarshal(d.src[value.start:value.end], &text); err != nil || text == nil {
			d.report(value, yurt.FieldErrorf(yurt.CodeInvalidArgument, path, "%s is not text; give text in quotes", jsonKind(d.src[value.start:])))
			return
		}
		(*into)[name] = *text
	})
}

// lists decodes an object of arrays of texts.
func (d *jsonDecoder) lists(field string, v span, into *map[string][]string) {
	*into = map[string][]string{}
	d.members(field, v, func(name string, _, value span) {
		path := field + member(name)
		d.ranges[path] = value
		var list []string
		d.list(path, value, &list)
		(*into)[name] = list
	})
}

// list decodes an array of texts.
func (d *jsonDecoder) list(field string, v span, into *[]string) {
	raw := d.src[v.start:v.end]
	if isNull(raw) {
		return
	}
	if raw[0] != '[' {
		d.report(v, yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%s is not a list; give a list such as [\"a\", \"b\"]", jsonKind(raw)))
		return
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token() // the bracket
	for i := 0; dec.More(); i++ {
		value := nextValue(dec, v.start)
		path := field + index(i)
		d.ranges[path] = value
		var text *string
		if err := json.Unmarshal(d.src[value.start:value.end], &text); err != nil || text == nil {
			d.report(value, yurt.FieldErrorf(yurt.CodeInvalidArgument, path, "%s is not text; give text in quotes", jsonKind(d.src[value.start:])))
			text = new(string)
		}
		*into = append(*into, *text)
	}
}

// leaf decodes a single value.
func (d *jsonDecoder) leaf(field string, v span, into any) {
	raw := d.src[v.start:v.end]
	if isNull(raw) {
		return
	}
	if _, ok := into.(*int); ok {
		raw = wholenumber.Plain(raw)
	}
	err := json.Unmarshal(raw, into)
	if err == nil {
		return
	}
	var fault *yurt.Error
	if !errors.As(err, &fault) {
		fault = yurt.Errorf(yurt.CodeInvalidArgument, "%s is not %s", jsonKind(raw), wanted(into))
	}
	fault = asFault(fault)
	fault.Field = field
	d.report(v, fault)
}

func wanted(into any) string {
	switch into.(type) {
	case *int:
		return "a whole number"
	case *float64:
		return "a number"
	default:
		return "text; give text in quotes"
	}
}

// unknownMember explains a name that the object at path does not have.
func unknownMember(path, name string, names []string) *yurt.Error {
	field := join(path, name)
	if path == "" && name == extendsName {
		return yurt.FieldErrorf(yurt.CodeNotSupported, field, "extending another template is possible in HCL alone; give the fields themselves, or send HCL")
	}
	schema := templateSchema()
	for part := range strings.SplitSeq(path, ".") {
		if path != "" {
			schema = schema.blocks[part]
		}
	}
	if what, ok := schema.later[name]; ok {
		return yurt.FieldErrorf(yurt.CodeNotSupported, field, "%s", notSupportedText(what, name))
	}
	if guess := didYouMean(name, names); guess != "" {
		return yurt.FieldErrorf(yurt.CodeUnknownField, field, "there is no such field.%s", guess)
	}
	return yurt.FieldErrorf(yurt.CodeUnknownField, field, "there is no such field; the fields here are %s", strings.Join(names, ", "))
}

// spanOf returns where field is in the source, or the nearest that holds it.
func (d *jsonDecoder) spanOf(field string) (at span, ok bool) {
	for ; field != ""; field = parent(field) {
		if at, ok := d.ranges[field]; ok {
			return at, true
		}
	}
	return span{}, false
}

func isNull(raw []byte) bool { return bytes.HasPrefix(raw, []byte("null")) }

// jsonKind names the kind of the value that raw begins with.
func jsonKind(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "text"
	case 't', 'f':
		return "a bool"
	case 'n':
		return "null"
	default:
		number, _, _ := strings.Cut(string(raw[:min(len(raw), 32)]), ",")
		return strings.TrimRight(number, " \t\r\n]}")
	}
}
