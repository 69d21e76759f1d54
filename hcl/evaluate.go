package hcl

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// evaluator gives expressions their values. After variables and locals are
// evaluated, it only reads.
type evaluator struct {
	budget     *budget
	functions  map[string]function.Function
	variables  map[string]cty.Value
	localNames []string
	scope      scope // of templates
	reported   bool  // that the budget was exceeded
}

// scope holds the names that an expression can refer to.
type scope struct {
	variables map[string]cty.Value
	locals    map[string]cty.Value
	context   *hcl.EvalContext
}

func newEvaluator() *evaluator {
	b := newBudget()
	e := &evaluator{budget: b, functions: functions(b), variables: map[string]cty.Value{}}
	e.scope = e.newScope(nil)
	return e
}

func (e *evaluator) newScope(locals map[string]cty.Value) scope {
	return scope{variables: e.variables, locals: locals, context: &hcl.EvalContext{
		Variables: map[string]cty.Value{"var": cty.ObjectVal(e.variables), "local": cty.ObjectVal(locals)},
		Functions: e.functions,
	}}
}

// value evaluates expr in s. On error the value is unknown. An unknown value without
// diagnostics follows from an error that was reported before.
func (e *evaluator) value(expr hclsyntax.Expression, s scope) (cty.Value, hcl.Diagnostics) {
	references := expr.Variables()
	if diags := e.checkReferences(references, s); len(diags) > 0 {
		return cty.DynamicVal, diags
	}
	if e.budget.exceeded || !e.budget.read(references, s.context) {
		return cty.DynamicVal, e.exceeded(expr)
	}
	v, diags := expr.Value(s.context)
	if e.budget.exceeded {
		return cty.DynamicVal, e.exceeded(expr)
	}
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return v, nil
}

// exceeded reports, once, that the budget does not suffice.
func (e *evaluator) exceeded(expr hclsyntax.Expression) hcl.Diagnostics {
	if e.reported {
		return nil
	}
	e.reported = true
	return hcl.Diagnostics{tooMuchWork(expr.Range())}
}

// checkReferences reports names that do not exist, with better words than the
// library has.
func (e *evaluator) checkReferences(references []hcl.Traversal, s scope) hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, ref := range references {
		name, nameRange := secondStep(ref)
		switch root := ref.RootName(); {
		case root == "var" && name != "" && !has(s.variables, name):
			diags = append(diags, problem(&nameRange, "Unknown variable", "There is no variable %q.%s Declare it with variable %q { … }.", name, didYouMean(name, keysOf(s.variables)), name))
		case root == "local" && name != "" && !has(s.locals, name):
			diags = append(diags, problem(&nameRange, "Unknown local", "There is no local %q.%s Define it in a locals { … } block.", name, didYouMean(name, e.localNames)))
		case root != "var" && root != "local":
			diags = append(diags, problem(ref.SourceRange().Ptr(), "Unknown name", "There is no %q here. Write var.NAME for a variable, local.NAME for a local, and text in quotes.", root))
		}
	}
	return diags
}

// secondStep returns the name after the first dot of ref, or "".
func secondStep(ref hcl.Traversal) (string, hcl.Range) {
	if len(ref) < 2 {
		return "", hcl.Range{}
	}
	if attr, ok := ref[1].(hcl.TraverseAttr); ok {
		return attr.Name, attr.SrcRange
	}
	return "", hcl.Range{}
}

func has(values map[string]cty.Value, name string) bool {
	_, ok := values[name]
	return ok
}

func keysOf[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// localsSolver evaluates locals in the order in which they need each other.
type localsSolver struct {
	evaluator *evaluator
	defined   map[string]*hclsyntax.Attribute
	solving   []string // names being evaluated, each needed by the one before
	solved    map[string]cty.Value
	diags     hcl.Diagnostics
}

// solveLocals evaluates all of defined and makes them known to expressions.
func (e *evaluator) solveLocals(defined map[string]*hclsyntax.Attribute) hcl.Diagnostics {
	e.localNames = keysOf(defined)
	s := &localsSolver{evaluator: e, defined: defined, solved: map[string]cty.Value{}}
	for _, name := range e.localNames {
		s.solve(name)
	}
	e.scope = e.newScope(s.solved)
	return s.diags
}

func (s *localsSolver) solve(name string) {
	attr, ok := s.defined[name]
	if _, done := s.solved[name]; done || !ok {
		return // value reports undefined names
	}
	if i := slices.Index(s.solving, name); i >= 0 {
		s.diags = append(s.diags, problem(&attr.NameRange, "Circular locals",
			"A local cannot be defined by itself: %s.", chain(append(s.solving[i:], name))))
		s.solved[name] = cty.DynamicVal
		return
	}
	s.solving = append(s.solving, name)
	needed := map[string]cty.Value{}
	for _, ref := range attr.Expr.Variables() {
		if ref.RootName() != "local" {
			continue
		}
		other, _ := secondStep(ref)
		if other == "" {
			s.diags = append(s.diags, problem(ref.SourceRange().Ptr(), "Invalid reference", "Inside a locals block name one local, as in local.NAME; all of them together cannot be used here."))
			continue
		}
		s.solve(other)
		if v, ok := s.solved[other]; ok {
			needed[other] = v
		}
	}
	s.solving = s.solving[:len(s.solving)-1]
	if _, circular := s.solved[name]; circular {
		return
	}
	v, diags := s.evaluator.value(attr.Expr, s.evaluator.newScope(needed))
	s.diags = append(s.diags, diags...)
	s.solved[name] = v
}

func chain(names []string) string { return strings.Join(names, " → ") }
