package hcl

import (
	"errors"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// errTooMuchWork is the error of a function beyond the budget; [evaluator] explains it.
var errTooMuchWork = errors.New("the value is too large")

// libraryFunction is one function of the language.
type libraryFunction struct {
	function.Function

	// work returns the cost of a call beyond reading its arguments and making its result; nil means 0. It must be cheap.
	work func(args []cty.Value) int
}

// library returns the functions of the language. Those of HashiCorp's tools that
// read files, the clock or the network are not among them, nor the few whose cost
// cannot be told beforehand: setproduct, regex, indent, try, can.
func library() map[string]libraryFunction {
	all := map[string]libraryFunction{
		"distinct":   {stdlib.DistinctFunc, distinctWork},
		"format":     {stdlib.FormatFunc, formatWork},
		"formatlist": {stdlib.FormatListFunc, formatWork},
		"join":       {stdlib.JoinFunc, joinWork},
		"replace":    {stdlib.ReplaceFunc, replaceWork},
		"trim":       {stdlib.TrimFunc, trimWork},
	}
	for name, f := range linearFunctions() {
		all[name] = libraryFunction{Function: f}
	}
	return all
}

// linearFunctions returns those whose work is in proportion to their arguments and
// their result.
func linearFunctions() map[string]function.Function {
	return map[string]function.Function{
		// strings
		"chomp": stdlib.ChompFunc, "lower": stdlib.LowerFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc,
		"strlen": stdlib.StrlenFunc, "strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc,
		"trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc,
		"trimsuffix": stdlib.TrimSuffixFunc, "upper": stdlib.UpperFunc,
		// collections
		"chunklist": stdlib.ChunklistFunc, "coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc,
		"compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "element": stdlib.ElementFunc,
		"flatten": stdlib.FlattenFunc, "index": stdlib.IndexFunc, "keys": stdlib.KeysFunc, "length": stdlib.LengthFunc,
		"lookup": stdlib.LookupFunc, "merge": stdlib.MergeFunc, "range": stdlib.RangeFunc, "reverse": stdlib.ReverseListFunc,
		"setintersection": stdlib.SetIntersectionFunc, "setsubtract": stdlib.SetSubtractFunc, "setunion": stdlib.SetUnionFunc,
		"slice": stdlib.SliceFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
		// numbers
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": stdlib.LogFunc, "max": stdlib.MaxFunc,
		"min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc, "signum": stdlib.SignumFunc,
		// conversion
		"jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"tobool": stdlib.MakeToFunc(cty.Bool), "tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
		"tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)), "tonumber": stdlib.MakeToFunc(cty.Number),
		"toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), "tostring": stdlib.MakeToFunc(cty.String),
	}
}

// functions returns the library, every call of which spends from b.
func functions(b *budget) map[string]function.Function {
	metered := map[string]function.Function{}
	for name, f := range library() {
		metered[name] = meterFunction(f.Function, f.work, b)
	}
	return metered
}

// meterFunction returns f, made to spend from b the cost of its arguments and its result, and of work.
func meterFunction(f function.Function, work func([]cty.Value) int, b *budget) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			for _, arg := range args {
				if !b.spend(sizeOf(arg, b.left)) {
					return cty.NilType, errTooMuchWork
				}
			}
			return f.ReturnTypeForValues(args) //nolint:wrapcheck // hcl looks for the argument's error
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if work != nil && !b.spend(work(args)) {
				return cty.NilVal, errTooMuchWork
			}
			result, err := f.Call(args)
			if err == nil && !b.spend(sizeOf(result, b.left)) {
				return cty.NilVal, errTooMuchWork
			}
			return result, err //nolint:wrapcheck // hcl looks for the argument's error
		},
	})
}

// tooMuch is more work than any budget has.
const tooMuch = EvaluationBudget + 1

// distinctWork: every element is compared with every other before it.
func distinctWork(args []cty.Value) int {
	n := elements(args[0])
	return saturate(n, n)
}

// joinWork: the separator is repeated.
func joinWork(args []cty.Value) int {
	total := 0
	for _, list := range args[1:] {
		total += elements(list)
	}
	return saturate(len(known(args[0])), total)
}

// replaceWork: the replacement is repeated.
func replaceWork(args []cty.Value) int {
	text, from, to := known(args[0]), known(args[1]), known(args[2])
	return saturate(strings.Count(text, from), len(to))
}

// trimWork: every character is looked for among those to trim.
func trimWork(args []cty.Value) int {
	return saturate(len(known(args[0])), len(known(args[1])))
}

// formatWork: the format is repeated for each element of lists, an argument for
// each verb; a verb may ask for any width; text that is a number can have any
// exponent.
func formatWork(args []cty.Value) int {
	format, times, size := known(args[0]), 1, 0
	if hasWideVerb(format) {
		return tooMuch
	}
	for _, arg := range args[1:] {
		times = max(times, elements(arg))
		size += asNumberSize(arg)
		for element := range each(arg) {
			size += asNumberSize(element)
		}
	}
	return saturate(saturate(strings.Count(format, "%"), size)+len(format), times)
}

// hasWideVerb reports whether a verb of format asks for a width, a precision or an
// argument beyond 9999.
func hasWideVerb(format string) bool {
	verb, digits := false, 0
	for _, r := range format {
		switch {
		case r == '%':
			verb, digits = true, 0
		case verb && r >= '0' && r <= '9':
			if digits++; digits > 4 {
				return true
			}
		case strings.ContainsRune("+-# .[]*", r):
			digits = 0
		default:
			verb = false
		}
	}
	return false
}

// each iterates over the elements of a collection, if v is one.
func each(v cty.Value) func(yield func(cty.Value) bool) {
	return func(yield func(cty.Value) bool) {
		if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
			return
		}
		for it := v.ElementIterator(); it.Next(); {
			if _, element := it.Element(); !yield(element) {
				return
			}
		}
	}
}

func elements(v cty.Value) int {
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
		return 0
	}
	return v.LengthInt()
}

// known returns the text of v, or "" for a value without text.
func known(v cty.Value) string {
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// saturate multiplies without overflow.
func saturate(a, b int) int {
	if a != 0 && b > tooMuch/a {
		return tooMuch
	}
	return a * b
}
