package hcl

import (
	"maps"
	"math/big"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/yurtrun/yurt"
)

// The functions here read a known, non-null value of an expression. As everywhere
// in HCL, a number or a bool does where text is wanted, and the other way round.
// Their errors name no field, or only the part below it, such as "[2]".

func toText(v cty.Value) (string, error) {
	text, err := convert.Convert(v, cty.String)
	if err != nil || text.IsNull() {
		return "", yurt.Errorf(yurt.CodeInvalidArgument, "%s is not text; give text in quotes", article(v))
	}
	return text.AsString(), nil
}

func toWord[T ~string](v cty.Value) (T, error) {
	text, err := toText(v)
	return T(text), err
}

// toTexts reads a list of texts.
func toTexts(v cty.Value) ([]string, error) {
	if !v.Type().IsTupleType() && !v.Type().IsListType() && !v.Type().IsSetType() {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "%s is not a list; give a list such as [\"a\", \"b\"]", article(v))
	}
	texts := make([]string, 0, v.LengthInt())
	for element := range each(v) {
		text, err := toText(element)
		if err != nil {
			return nil, below(index(len(texts)), err)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// toPaths reads a list of paths. An empty one cannot mean the default, as the
// template would not have it, nor a root file system without any file.
func toPaths(v cty.Value) ([]string, error) {
	paths, err := toTexts(v)
	if err == nil && len(paths) == 0 {
		err = yurt.Errorf(yurt.CodeInvalidArgument, "the list is empty and nothing could run; name the host's directories to bind, or leave the block out for the default")
	}
	return paths, err
}

// toSize reads a number of bytes, or text such as "512Mi".
func toSize(v cty.Value) (yurt.Size, error) {
	var size yurt.Size
	var err error
	switch v.Type() {
	case cty.Number:
		var n int64
		n, err = wholeNumber(v, "bytes")
		size = yurt.Size(n)
	case cty.String:
		size, err = yurt.ParseSize(v.AsString())
	default:
		err = yurt.Errorf(yurt.CodeInvalidArgument, "%s is not a size; give bytes, or text such as \"512Mi\"", article(v))
	}
	return size, orZero(size == 0, err)
}

// toDuration reads a number of seconds, or text such as "30s".
func toDuration(v cty.Value) (yurt.Duration, error) {
	var d yurt.Duration
	var err error
	switch v.Type() {
	case cty.Number:
		seconds, _ := v.AsBigFloat().Float64()
		d, err = yurt.ParseDuration(strconv.FormatFloat(seconds, 'g', -1, 64))
	case cty.String:
		d, err = yurt.ParseDuration(v.AsString())
	default:
		err = yurt.Errorf(yurt.CodeInvalidArgument, "%s is not a duration; give seconds, or text such as \"30s\" or \"1h30m\"", article(v))
	}
	return d, orZero(d == 0, err)
}

func toCores(v cty.Value) (float64, error) {
	n, err := toNumber(v)
	if err != nil {
		return 0, err
	}
	cores, _ := n.AsBigFloat().Float64()
	return cores, orZero(cores == 0, nil)
}

func toCount(v cty.Value) (int, error) {
	n, err := toNumber(v)
	if err != nil {
		return 0, err
	}
	whole, err := wholeNumber(n, "")
	return int(whole), orZero(whole == 0, err)
}

func toBool(v cty.Value) (bool, error) {
	b, err := convert.Convert(v, cty.Bool)
	if err != nil || b.IsNull() {
		return false, yurt.Errorf(yurt.CodeInvalidArgument, "%s is neither true nor false; give one of them", article(v))
	}
	return b.True(), nil
}

func toNumber(v cty.Value) (cty.Value, error) {
	n, err := convert.Convert(v, cty.Number)
	if err != nil || n.IsNull() || v.Type() == cty.Bool {
		return cty.NilVal, yurt.Errorf(yurt.CodeInvalidArgument, "%s is not a number; give one such as 2", article(v))
	}
	return n, nil
}

func wholeNumber(v cty.Value, unit string) (int64, error) {
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy == big.Exact {
		return n, nil
	}
	if unit != "" {
		unit = " of " + unit
	}
	// Text in quotes can be a number of a billion digits: not one to write out.
	approximate, _ := v.AsBigFloat().Float64()
	if !v.AsBigFloat().IsInt() {
		return 0, yurt.Errorf(yurt.CodeInvalidArgument, "%v is not whole; give a whole number%s", approximate, unit)
	}
	return 0, yurt.Errorf(yurt.CodeLimitOutOfRange, "%v is out of range; give a smaller number%s", approximate, unit)
}

// orZero refuses an explicit zero: in the domain zero means the default, but an author who writes 0
// may mean "no limit" or an empty amount.
func orZero(zero bool, err error) error {
	if err == nil && zero {
		return yurt.Errorf(yurt.CodeLimitOutOfRange, "0 is out of range, and there is no way to say \"unlimited\"; give more, or leave it out for the default")
	}
	return err
}

// setEnv merges the variables into those that are inherited; null removes one.
func setEnv(t *yurt.Template, v cty.Value) error {
	return merge(&t.Env, v, "{ NAME = \"value\" }")
}

// setKernels merges the kernels into those that are inherited; null removes one.
func setKernels(t *yurt.Template, v cty.Value) error {
	return merge(&t.Kernels, v, "{ python = \"ipykernel\" }")
}

// merge sets names of a map of texts, which it does not change itself; null removes one.
func merge(texts *map[string]string, v cty.Value, such string) error {
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return yurt.Errorf(yurt.CodeInvalidArgument, "%s is not a map; give one such as %s", article(v), such)
	}
	merged := make(map[string]string, len(*texts)+v.LengthInt())
	maps.Copy(merged, *texts)
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		name := key.AsString()
		if value.IsNull() {
			delete(merged, name)
			continue
		}
		text, err := toText(value)
		if err != nil {
			return below(member(name), err)
		}
		merged[name] = text
	}
	*texts = merged
	return nil
}

// setDependencies merges the lists into those that are inherited, a runtime's as a whole;
// null removes one.
func setDependencies(t *yurt.Template, v cty.Value) error {
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return yurt.Errorf(yurt.CodeInvalidArgument, "%s is not a map; give one such as { python = [\"numpy==2.1.0\"] }", article(v))
	}
	lists := make(map[string][]string, len(t.Dependencies)+v.LengthInt())
	maps.Copy(lists, t.Dependencies)
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		name := key.AsString()
		if value.IsNull() {
			delete(lists, name)
			continue
		}
		list, err := toTexts(value)
		if err != nil {
			return below(member(name), err)
		}
		lists[name] = list
	}
	t.Dependencies = lists
	return nil
}

// article names the type of v, such as "a list".
func article(v cty.Value) string {
	name := v.Type().FriendlyName()
	switch {
	case v.IsNull():
		return "null"
	case v.Type().IsTupleType():
		return "a list"
	case v.Type().IsObjectType():
		return "an object"
	default:
		return "a " + name
	}
}
