package hcl

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// evaluateLocals gives locals their values. One with an error has an unknown value, so that
// expressions that use it are not reported too.
func (p *parse) evaluateLocals() {
	defined := map[string]*hclsyntax.Attribute{}
	for _, b := range p.locals {
		for _, inner := range b.Body.Blocks {
			p.report(problem(&inner.TypeRange, "Unexpected block", "A locals block holds only NAME = VALUE. For a map write %s = { … }.", inner.Type))
		}
		for _, attr := range attributesOf(b.Body) {
			if first, twice := defined[attr.Name]; twice {
				p.report(problem(&attr.NameRange, "Duplicate local", "The local %q is already defined at %s.", attr.Name, first.NameRange))
				continue
			}
			defined[attr.Name] = attr
		}
	}
	p.report(p.evaluator.solveLocals(defined)...)
}

// evaluateVariables gives variables their values, likewise.
func (p *parse) evaluateVariables() {
	declared := map[string]hcl.Range{}
	for _, b := range p.variables {
		name := b.Labels[0]
		switch first, twice := declared[name]; {
		case twice:
			p.report(problem(&b.LabelRanges[0], "Duplicate variable", "The variable %q is already declared at %s.", name, first))
			continue
		case !hclsyntax.ValidIdentifier(name):
			p.report(problem(&b.LabelRanges[0], "Invalid name", "The name of a variable has letters, digits, \"_\" and \"-\", and begins with a letter."))
		}
		declared[name] = b.LabelRanges[0]
		p.evaluator.variables[name] = p.variable(b)
	}
	for _, name := range keysOf(p.fileValues) {
		if _, ok := declared[name]; !ok {
			p.report(problem(p.fileValues[name].name.Ptr(), "Unknown variable", "The variable %q is not declared.%s", name, didYouMean(name, keysOf(declared))))
		}
	}
	for _, name := range keysOf(p.parser.Variables) {
		if _, ok := declared[name]; !ok {
			p.report(problem(nil, "Unknown variable", "A value was given for the variable %q, which is not declared.%s", name, didYouMean(name, keysOf(declared))))
		}
	}
}

// variable returns the value of the variable that b declares.
func (p *parse) variable(b *hclsyntax.Block) cty.Value {
	attrs := b.Body.Attributes
	ok := p.checkVariableNames(b)
	want := cty.DynamicPseudoType
	if attr := attrs["type"]; attr != nil {
		t, diags := typeexpr.TypeConstraint(attr.Expr)
		p.report(diags...)
		want, ok = t, ok && !diags.HasErrors()
	}
	if attr := attrs["description"]; attr != nil {
		p.checkDescription(attr)
	}
	if !ok {
		return cty.DynamicVal
	}
	text, given := p.parser.Variables[b.Labels[0]]
	fromFile, inFile := p.fileValues[b.Labels[0]]
	def := attrs["default"]
	switch {
	case given:
		return p.givenValue(b, text, want)
	case inFile:
		return p.convertVariable(fromFile.value, want, &fromFile.at, "The value in the variable file")
	case def != nil:
		return p.defaultValue(def, want)
	default:
		p.report(problem(&b.LabelRanges[0], "Missing value", "The variable %q has no default, and no value was given for it.", b.Labels[0]))
		return cty.DynamicVal
	}
}

func (p *parse) checkVariableNames(b *hclsyntax.Block) bool {
	before := len(p.diags)
	schema := &block{
		attributes: map[string]attribute{"type": {}, "default": {}, "description": {}},
		later: map[string]string{
			"validation": "validation of variables", "sensitive": "sensitive variables",
			"nullable": "variables that cannot be null", "ephemeral": "ephemeral variables",
		},
	}
	c := checker{homes: schema.homes("variable"), report: p.report}
	for _, attr := range attributesOf(b.Body) {
		c.attribute(schema, "variable", attr)
	}
	for _, inner := range b.Body.Blocks {
		c.block(schema, "variable", inner)
	}
	return len(p.diags) == before
}

func (p *parse) checkDescription(attr *hclsyntax.Attribute) {
	v, diags := p.evaluator.value(attr.Expr, p.evaluator.scope)
	if p.report(diags...); !v.IsWhollyKnown() {
		return
	}
	if _, err := toText(v); err != nil {
		p.report(problem(attr.Expr.Range().Ptr(), "Invalid value", "The description of a variable is text in quotes."))
	}
}

// defaultValue evaluates a default, which is a constant.
func (p *parse) defaultValue(attr *hclsyntax.Attribute, want cty.Type) cty.Value {
	if len(attr.Expr.Variables()) > 0 {
		p.report(problem(attr.Expr.Range().Ptr(), "Invalid default", "The default of a variable is a constant; it cannot use other names. Use a locals block for that."))
		return cty.DynamicVal
	}
	v, diags := p.evaluator.value(attr.Expr, p.evaluator.scope)
	p.report(diags...)
	return p.convertVariable(v, want, attr.Expr.Range().Ptr(), "The default")
}

// givenValue reads the text that the caller gave for the variable.
func (p *parse) givenValue(b *hclsyntax.Block, text string, want cty.Type) cty.Value {
	subject := &b.LabelRanges[0]
	if want.IsPrimitiveType() || want == cty.DynamicPseudoType {
		return p.convertVariable(cty.StringVal(text), want, subject, "The value that was given")
	}
	// Its positions would be those of another text, so only the words are kept.
	const filename = "value"
	if len(text) > MaxSourceBytes || len(scan(filename, append([]byte("value = "), text...))) > 0 {
		p.report(problem(subject, "Invalid value", "The value that was given for %q is too large or nested too deeply.", b.Labels[0]))
		return cty.DynamicVal
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), filename, hcl.InitialPos)
	v := cty.DynamicVal
	if !diags.HasErrors() {
		// Excess is reported below.
		_ = meter(expr, p.evaluator.budget)
		v, diags = expr.Value(nil)
	}
	if diags.HasErrors() || p.evaluator.budget.exceeded {
		p.report(problem(subject, "Invalid value", "The value that was given for %q is not an HCL expression such as [\"a\", \"b\"].", b.Labels[0]))
		return cty.DynamicVal
	}
	return p.convertVariable(v, want, subject, "The value that was given")
}

func (p *parse) convertVariable(v cty.Value, want cty.Type, subject *hcl.Range, what string) cty.Value {
	if !v.IsWhollyKnown() {
		return cty.DynamicVal
	}
	converted, err := convert.Convert(v, want)
	if err != nil {
		p.report(problem(subject, "Invalid value", "%s does not have the type of the variable: %s.", what, err))
		return cty.DynamicVal
	}
	return converted
}
