package hcl

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const declared = `
variable "memory" { type = string }
variable "tools" {
  type    = list(string)
  default = []
}
variable "pids" { default = 10 }
template "x" {
  description = join(" ", var.tools)
  resources {
    memory = var.memory
    pids   = var.pids
  }
}
`

func TestVariableFiles(t *testing.T) {
	for _, tt := range []struct {
		name        string
		files       []Source
		variables   map[string]string
		memory      int64
		description string
		pids        int
	}{
		{"HCL", []Source{{"a.hcl", []byte("# sizes\nmemory = \"64Mi\"\ntools = [\"git\", \"jq\"]\n")}}, nil, 64 << 20, "git jq", 10},
		{"JSON", []Source{{"a.json", []byte(`{"memory": "64Mi", "tools": ["${git}"], "pids": 20}`)}}, nil, 64 << 20, "${git}", 20},
		{"later over earlier", []Source{{"a.hcl", []byte("memory = \"1Mi\"\npids = 30\n")}, {"b.json", []byte(`{"memory": "128Mi"}`)}}, nil, 128 << 20, "", 30},
		{"flag over file", []Source{{"a.hcl", []byte("memory = \"64Mi\"\ntools = [\"a\"]")}}, map[string]string{"memory": "256Mi"}, 256 << 20, "a", 10},
		{"same file twice", []Source{{"a.hcl", []byte(`memory = "64Mi"`)}, {"a.hcl", []byte(`memory = "64Mi"`)}}, nil, 64 << 20, "", 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := (&Parser{VariableFiles: tt.files, Variables: tt.variables}).Parse(Source{"x.hcl", []byte(declared)})
			if err != nil {
				t.Fatal(err)
			}
			x := got[0]
			if int64(x.Resources.Memory) != tt.memory || x.Description != tt.description || x.Resources.PIDs != tt.pids {
				t.Errorf("it has memory %d, description %q and pids %d", x.Resources.Memory, x.Description, x.Resources.PIDs)
			}
		})
	}
}

func TestVariableFilesThatAreRefused(t *testing.T) {
	const memory = "memory = \"64Mi\"\n"
	for _, tt := range []struct {
		name, file, text string
		want             string // summary
		line             int
	}{
		{"unknown variable", "v.hcl", memory + "tolos = []\n", "Unknown variable", 2},
		{"unknown variable in JSON", "v.json", "{\n\"memory\": \"1Mi\",\n\"tolos\": []}", "Unknown variable", 3},
		{"wrong type", "v.hcl", memory + "\ntools = { a = 1 }\n", "Invalid value", 3},
		{"wrong type in JSON", "v.json", "{\"memory\": \"1Mi\",\n\"tools\": true}", "Invalid value", 2},
		{"a name", "v.hcl", memory + "tools = [var.memory]", "Invalid value", 2},
		{"text without quotes", "v.hcl", "memory = big", "Invalid value", 1},
		{"a function", "v.hcl", memory + "tools = [upper(\"a\")]", "Function calls not allowed", 2},
		{"a block", "v.hcl", memory + "tools {\n}\n", "Unexpected block", 2},
		{"twice", "v.hcl", memory + memory, "Attribute redefined", 2},
		{"broken", "v.hcl", memory + "tools = [\n", "Missing expression", 3},
		{"broken JSON", "v.json", "{\n\"memory\":\n", "Unclosed object", 1},
		{"no object", "v.json", "[1]", "Incorrect JSON value type", 1},
		{"deep JSON", "v.json", "{\"tools\": " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "}", "Nested too deeply", 1},
		{"deep", "v.hcl", "tools = " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "Nested too deeply", 1},
		{"large number in JSON", "v.json", "{\n\"pids\": 1e999999999}", "Number too large", 2},
		{"large", "v.hcl", strings.Repeat("#", MaxSourceBytes), "Source too large", 1},
		{"many", "v.hcl", manyValues(), "Too many values", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parser := Parser{VariableFiles: []Source{{tt.file, []byte(tt.text)}}}
			_, err := parser.Parse(Source{"x.hcl", []byte(declared)})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			first := e.Diagnostics[0]
			for _, d := range e.Diagnostics { // problems in another file come first
				if d.File == tt.file {
					first = d
					break
				}
			}
			if first.Summary != tt.want || first.Line != tt.line || tt.line > 0 && first.File != tt.file {
				t.Errorf("it is %+v, want %q in line %d of %s", first, tt.want, tt.line, tt.file)
			}
		})
	}
}

func manyValues() string {
	var text strings.Builder
	for i := range MaxVariables + 1 {
		fmt.Fprintf(&text, "v%d = 1\n", i)
	}
	return text.String()
}
