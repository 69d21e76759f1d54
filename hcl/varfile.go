package hcl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// fileValue is the value of a variable in a variable file.
type fileValue struct {
	value cty.Value
	at    hcl.Range // of the value
	name  hcl.Range
}

const variableFile = "variable file"

// readVariableFiles takes the values from the variable files. A later file wins.
func (p *parse) readVariableFiles() {
	p.fileValues = map[string]fileValue{}
	for _, source := range p.parser.VariableFiles {
		if p.total += len(source.Text); p.total > MaxSourceBytes {
			p.files[source.Name] = &hcl.File{Bytes: source.Text}
			p.report(tooLarge(source.Name))
			return
		}
		for _, attr := range p.attributesOfFile(source, variableFile) {
			if value, ok := p.constant(attr.Expr, variableFile); ok {
				p.fileValues[attr.Name] = fileValue{value, attr.Expr.Range(), attr.NameRange}
			}
		}
	}
}

// attributesOfFile parses a file of values, which kind names: JSON where its name ends in ".json", and else HCL.
func (p *parse) attributesOfFile(source Source, kind string) hcl.Attributes {
	var file *hcl.File
	var diags hcl.Diagnostics
	p.files[source.Name] = &hcl.File{Bytes: source.Text}
	if strings.HasSuffix(source.Name, ".json") {
		if diags = scanJSON(source.Name, source.Text); len(diags) == 0 {
			file, diags = hcljson.Parse(source.Text, source.Name)
		}
	} else if diags = scan(source.Name, source.Text); len(diags) == 0 {
		file, diags = hclsyntax.ParseConfig(source.Text, source.Name, hcl.InitialPos)
	}
	p.report(diags...)
	if file == nil || diags.HasErrors() {
		return nil
	}
	p.files[source.Name] = file
	if body, ok := file.Body.(*hclsyntax.Body); ok && len(body.Blocks) > 0 {
		b := body.Blocks[0]
		p.report(problem(&b.TypeRange, "Unexpected block", "A %s holds only NAME = VALUE. For a map write %s = { … }.", kind, b.Type))
		return nil
	}
	attrs, diags := file.Body.JustAttributes()
	p.report(diags...)
	if len(attrs) > MaxVariables {
		p.report(problem(nil, "Too many values", "The %s %q has %d values, and %d is the most.", kind, source.Name, len(attrs), MaxVariables))
		return nil
	}
	return attrs
}

// constant evaluates an expression that may use neither names nor functions.
func (p *parse) constant(expr hcl.Expression, kind string) (cty.Value, bool) {
	if native, ok := expr.(hclsyntax.Expression); ok {
		if len(native.Variables()) > 0 {
			p.report(problem(expr.Range().Ptr(), "Invalid value", "A value in a %s is a constant; it cannot use other names. Write text in quotes.", kind))
			return cty.DynamicVal, false
		}
		_ = meter(native, p.evaluator.budget) // the budget keeps the excess
	}
	value, diags := expr.Value(nil)
	p.report(diags...)
	if !diags.HasErrors() && p.evaluator.budget.exceeded {
		p.report(problem(expr.Range().Ptr(), "Invalid value", "The value takes too much work to compute."))
		return cty.DynamicVal, false
	}
	return value, !diags.HasErrors()
}

// scanJSON bounds the nesting, the number of parts and the numbers of JSON before it is parsed, as
// [scan] does for HCL. The parser reports errors of syntax.
func scanJSON(filename string, src []byte) hcl.Diagnostics {
	decoder := json.NewDecoder(bytes.NewReader(src))
	decoder.UseNumber()
	depth, count := 0, 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return nil //nolint:nilerr // the parser reports it, with its place
		}
		at := placeIn(filename, src, int(decoder.InputOffset()))
		if count++; count > MaxTokens {
			return hcl.Diagnostics{problem(&at, "Source too large", "A source may have at most %d values and names.", MaxTokens)}
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
		case json.Number:
			if !sensibleNumber([]byte(token)) {
				return hcl.Diagnostics{problem(&at, "Number too large", "A number has at most %d characters and an exponent of at most two digits.", MaxNumberBytes)}
			}
		}
		if depth > MaxNesting {
			return hcl.Diagnostics{problem(&at, "Nested too deeply", "Objects and lists may be nested at most %d deep.", MaxNesting)}
		}
	}
}

// placeIn returns the position of a byte of a source.
func placeIn(filename string, src []byte, offset int) hcl.Range {
	before := src[:offset]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := offset - bytes.LastIndexByte(before, '\n')
	pos := hcl.Pos{Line: line, Column: column, Byte: offset}
	return hcl.Range{Filename: filename, Start: pos, End: pos}
}
