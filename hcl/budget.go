package hcl

import (
	"math/big"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// valueCost is the least that a value counts in the budget, in bytes: about its size in memory beside its text.
const valueCost = 16

// budget bounds the work of evaluating expressions. Values share structure, so a few lines (a list of two of the list before,
// and so on) name more than fits in any memory. The budget is spent on the values that an expression reads, before it is
// evaluated, on the results of functions, and on each turn of a `for`. An exceeded budget stays so.
type budget struct {
	left     int
	exceeded bool
}

func newBudget() *budget { return &budget{left: EvaluationBudget} }

// spend takes n from the rest and reports whether there was as much.
func (b *budget) spend(n int) bool {
	if b.exceeded || n > b.left {
		b.exceeded = true
		return false
	}
	b.left -= n
	return true
}

// read spends the cost of the values that references read in ctx.
func (b *budget) read(references []hcl.Traversal, ctx *hcl.EvalContext) bool {
	for _, ref := range references {
		v, diags := ref.TraverseAbs(ctx)
		if diags.HasErrors() {
			continue // evaluating will say so
		}
		if !b.spend(sizeOf(v, b.left)) {
			return false
		}
	}
	return true
}

// sizeOf returns the cost of v, or a number above limit as soon as that is certain.
func sizeOf(v cty.Value, limit int) int {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return typeSize(v.Type(), limit)
	}
	switch t := v.Type(); {
	case t == cty.String:
		return textSize(len(v.AsString()))
	case t == cty.Number:
		return numberSize(v.AsBigFloat())
	case !v.CanIterateElements():
		return valueCost
	case v.LengthInt() == 0:
		return typeSize(t, limit)
	}
	size := valueCost + unifyCost(v.LengthInt())
	for it := v.ElementIterator(); size <= limit && it.Next(); {
		key, element := it.Element()
		if key.Type() == cty.String {
			size += len(key.AsString())
		}
		size += sizeOf(element, limit-size)
	}
	return size
}

// typeSize is sizeOf for a type: that of an empty list can be as large as one likes.
func typeSize(t cty.Type, limit int) int {
	size := valueCost
	switch {
	case t.IsCollectionType():
		size += typeSize(t.ElementType(), limit-size)
	case t.IsTupleType():
		elements := t.TupleElementTypes()
		size += unifyCost(len(elements))
		for _, element := range elements {
			if size > limit {
				break
			}
			size += typeSize(element, limit-size)
		}
	case t.IsObjectType():
		attributes := t.AttributeTypes()
		size += unifyCost(len(attributes))
		for name, attribute := range attributes {
			if size > limit {
				break
			}
			size += len(name) + typeSize(attribute, limit-size)
		}
	}
	return size
}

// unifyCost is the cost of n values in one collection: to make a list of them the library compares the type of each with that of
// each other.
func unifyCost(n int) int { return saturate(n, n) / 4 }

// textSize is the cost of a text of n bytes: to make a number of it takes quadratic time.
func textSize(n int) int { return valueCost + n + saturate(n, n)>>15 }

// numberSize is the cost of a number: one with thousands of digits, such as the text "1e600000000" used as a number, costs more
// than any budget.
func numberSize(n *big.Float) int {
	if exponent := n.MantExp(nil); max(exponent, -exponent) > 4096 {
		return tooMuch
	}
	return valueCost
}

// asNumberSize is sizeOf for a value that may be used as a number.
func asNumberSize(v cty.Value) int {
	if number, err := convert.Convert(v, cty.Number); err == nil {
		return sizeOf(number, tooMuch)
	}
	return sizeOf(v, tooMuch)
}

// metered is an expression that is evaluated once for each element of a `for`. It is in parentheses so that walkers of the tree
// come to the expression itself.
type metered struct {
	*hclsyntax.ParenthesesExpr
	budget     *budget
	cost       int // of one evaluation, beside the values that it reads
	references []hcl.Traversal
}

// Value implements hcl.Expression. Beyond the budget it is unknown, which ends
// the loop's work but for counting to its end.
func (m *metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if !m.budget.spend(m.cost) || !m.budget.read(m.references, ctx) {
		return cty.DynamicVal, nil
	}
	return m.ParenthesesExpr.Value(ctx)
}

// meteredKey is the key of an index: looking up a huge number in a list takes long.
type meteredKey struct {
	*hclsyntax.ParenthesesExpr
	budget *budget
}

// Value implements hcl.Expression.
func (m *meteredKey) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	key, diags := m.ParenthesesExpr.Value(ctx)
	if !m.budget.spend(asNumberSize(key)) {
		return cty.DynamicVal, nil
	}
	return key, diags
}

func inParentheses(e hclsyntax.Expression) *hclsyntax.ParenthesesExpr {
	return &hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}
}

// meter makes every operator, and every part of every `for`, below node spend from the budget, and spends the cost of long lists
// at once. It reports the expression that exceeds the budget.
func meter(node hclsyntax.Node, b *budget) hcl.Diagnostics {
	return hclsyntax.Walk(node, &meterWalker{budget: b})
}

type meterWalker struct {
	budget *budget
	costs  []int // of the nodes below each node that is being walked
}

// Enter implements hclsyntax.Walker.
func (w *meterWalker) Enter(hclsyntax.Node) hcl.Diagnostics {
	w.costs = append(w.costs, 0)
	return nil
}

// Exit implements hclsyntax.Walker. Inner loops are wrapped before outer ones.
func (w *meterWalker) Exit(node hclsyntax.Node) hcl.Diagnostics {
	last := len(w.costs) - 1
	once := onceCost(node)
	cost := w.costs[last] + once + nodeCost(node)
	w.costs = w.costs[:last]
	if last > 0 {
		w.costs[last-1] += cost
	}
	switch node := node.(type) {
	case *hclsyntax.BinaryOpExpr:
		node.Op = w.operation(node.Op)
	case *hclsyntax.UnaryOpExpr:
		node.Op = w.operation(node.Op)
	case *hclsyntax.IndexExpr:
		node.Key = &meteredKey{ParenthesesExpr: inParentheses(node.Key), budget: w.budget}
	case *hclsyntax.ForExpr:
		w.loop(node, cost)
	}
	if !w.budget.exceeded && !w.budget.spend(once) {
		return hcl.Diagnostics{tooMuchWork(node.Range())}
	}
	return nil
}

// onceCost is the cost of node where it is written: a list or a map, beside its elements, and a constant index.
func onceCost(node hclsyntax.Node) int {
	switch node := node.(type) {
	case *hclsyntax.TupleConsExpr:
		return unifyCost(len(node.Exprs))
	case *hclsyntax.ObjectConsExpr:
		return unifyCost(len(node.Items))
	case *hclsyntax.ScopeTraversalExpr:
		return indexCost(node.Traversal)
	case *hclsyntax.RelativeTraversalExpr:
		return indexCost(node.Traversal)
	default:
		return 0
	}
}

func indexCost(t hcl.Traversal) int {
	cost := 0
	for _, step := range t {
		if step, ok := step.(hcl.TraverseIndex); ok {
			cost += asNumberSize(step.Key)
		}
	}
	return cost
}

// nodeCost is the cost of one evaluation of node beside that of the nodes below it.
func nodeCost(node hclsyntax.Node) int {
	literal, ok := node.(*hclsyntax.LiteralValueExpr)
	if !ok {
		return valueCost
	}
	return sizeOf(literal.Val, EvaluationBudget)
}

func tooMuchWork(at hcl.Range) *hcl.Diagnostic {
	return problem(&at, "Expression too large",
		"The values that the expressions of this source make are together larger than is allowed (%d MiB); evaluation stopped here. Use fewer and smaller ones.", EvaluationBudget>>20)
}

// operation returns op, made to spend: a number in quotes can have any exponent,
// and computing with it takes as much memory.
func (w *meterWalker) operation(op *hclsyntax.Operation) *hclsyntax.Operation {
	if op.Type != cty.Number {
		return op
	}
	return &hclsyntax.Operation{Impl: meterFunction(op.Impl, nil, w.budget), Type: op.Type, ShortCircuit: op.ShortCircuit}
}

func (w *meterWalker) loop(loop *hclsyntax.ForExpr, cost int) {
	for _, part := range []*hclsyntax.Expression{&loop.CollExpr, &loop.KeyExpr, &loop.ValExpr, &loop.CondExpr} {
		if *part != nil {
			inner := inParentheses(*part)
			*part = &metered{ParenthesesExpr: inner, budget: w.budget, cost: cost, references: inner.Variables()}
		}
	}
}
