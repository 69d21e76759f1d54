package hcl

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/yurtrun/yurt"
)

// templateBlock is a template on its way from source to value.
type templateBlock struct {
	*hclsyntax.Block
	name    string
	decoded bool
	failed  bool // it, or one that it extends, has errors
	value   yurt.Template
}

func (b *templateBlock) nameRange() *hcl.Range { return &b.LabelRanges[0] }

func (p *parse) addTemplate(b *hclsyntax.Block) {
	if !p.oneLabel(b, "name") {
		return
	}
	t := &templateBlock{Block: b, name: b.Labels[0]}
	if first, twice := p.byName[t.name]; twice {
		p.report(problem(t.nameRange(), "Duplicate template", "A template named %q is already defined at %s.", t.name, *first.nameRange()))
		return
	}
	p.byName[t.name] = t
	p.templates = append(p.templates, t)
}

func (p *parse) decodeTemplates() ([]yurt.Template, error) {
	d := &decoder{parse: p}
	templates := make([]yurt.Template, 0, len(p.templates))
	for _, t := range p.templates {
		if err := d.decode(t); err != nil {
			return nil, err
		}
		templates = append(templates, t.value)
	}
	return templates, nil
}

// decoder turns template blocks into values, those that others extend first.
type decoder struct {
	*parse
	extending []string // names being decoded, each extended by the one before
}

// decode gives t its value. Problems are reported; an error is one of the resolver.
func (d *decoder) decode(t *templateBlock) error {
	if t.decoded {
		return nil
	}
	d.extending = append(d.extending, t.name)
	before := len(d.diags)
	layer := &layer{decoder: d, t: t, ranges: map[string]*hcl.Range{}, blocks: map[string]hcl.Range{}}
	base, err := layer.base()
	if err != nil {
		return err
	}
	t.value = WithDefaults(base) // its own, to be changed
	if base.RootFS.Image == "" && layer.sets("rootfs", "image") {
		for _, name := range yurt.RootEnv() {
			delete(t.value.Env, name)
		}
	}
	t.value.Name = t.name
	t.value.Description, t.value.Extends = "", base.Name
	layer.body(d.schema, "template", t.Body)
	layer.validate()
	t.value = WithDefaults(t.value)
	t.decoded = true
	t.failed = t.failed || len(d.diags) > before
	d.extending = d.extending[:len(d.extending)-1]
	return nil
}

// layer is the content of one template block over the template that it extends.
type layer struct {
	*decoder
	t      *templateBlock
	ranges map[string]*hcl.Range // of the values it sets, by field
	blocks map[string]hcl.Range  // first occurrence of each block, by title
}

// base returns the template that this one extends, or one with defaults alone.
func (l *layer) base() (yurt.Template, error) {
	attr := l.t.Body.Attributes[extendsName]
	if attr == nil {
		return yurt.Template{}, nil
	}
	v, ok := l.value(attr)
	if !ok {
		l.t.failed = true
		return yurt.Template{}, nil
	}
	at := attr.Expr.Range()
	name, err := toText(v)
	if err != nil {
		l.report(fieldProblem(&at, asFault(below(extendsName, err))))
		l.t.failed = true
		return yurt.Template{}, nil
	}
	base, found, resolveErr := l.find(name, &at)
	if resolveErr != nil {
		return yurt.Template{}, resolveErr
	}
	if !found {
		l.t.failed = true
		return yurt.Template{}, nil
	}
	return base, nil
}

// sets reports whether the template has the attribute in that block.
func (l *layer) sets(block, attribute string) bool {
	return slices.ContainsFunc(l.t.Body.Blocks, func(b *hclsyntax.Block) bool {
		return b.Type == block && b.Body.Attributes[attribute] != nil
	})
}

// find returns the template called name, decoding it first if it is one of ours.
func (l *layer) find(name string, at *hcl.Range) (base yurt.Template, found bool, err error) {
	if i := slices.Index(l.extending, name); i >= 0 {
		names := append(slices.Clone(l.extending[i:]), name)
		l.report(problem(at, "Circular extends", "A template cannot extend itself: %s.", chain(names)))
		return yurt.Template{}, false, nil
	}
	if other, ok := l.byName[name]; ok {
		if err := l.decode(other); err != nil {
			return yurt.Template{}, false, err
		}
		l.t.failed = l.t.failed || other.failed
		return other.value, true, nil
	}
	base, found, err = l.resolve(name)
	if err == nil && !found {
		l.report(problem(at, "Unknown template", "There is no template %q to extend.%s", name, didYouMean(name, l.extendable())))
	}
	return base, found, err
}

// extendable lists the names that `extends` is known to find.
func (l *layer) extendable() []string {
	names := keysOf(l.byName)
	if l.parser.Names != nil {
		return append(names, l.parser.Names()...)
	}
	if l.parser.Resolve != nil {
		return names
	}
	// Without them the suggestion is only poorer.
	defaults, _ := Defaults()
	for i := range defaults {
		names = append(names, defaults[i].Name)
	}
	return names
}

// body decodes the attributes and blocks of body.
func (l *layer) body(schema *block, title string, body *hclsyntax.Body) {
	c := checker{homes: l.homes, report: l.report}
	for _, attr := range attributesOf(body) {
		if c.attribute(schema, title, attr) && attr.Name != extendsName {
			l.attribute(schema.attributes[attr.Name], attr)
		}
	}
	for _, b := range body.Blocks {
		inner, ok := c.block(schema, title, b)
		if !ok {
			continue
		}
		if first, twice := l.blocks[b.Type]; twice {
			l.report(problem(&b.TypeRange, "Duplicate block", "There is already a %s block at %s; a template has one.", b.Type, first))
			continue
		}
		l.blocks[b.Type] = b.TypeRange
		l.body(inner, b.Type, b.Body)
	}
}

func (l *layer) attribute(schema attribute, attr *hclsyntax.Attribute) {
	l.ranges[schema.field] = attr.Expr.Range().Ptr()
	if !l.parts(schema.field, attr.Expr) {
		return
	}
	v, ok := l.value(attr)
	if !ok {
		return
	}
	if err := schema.set(&l.t.value, v); err != nil {
		fault := asFault(err)
		fault.Field = schema.field + fault.Field
		l.report(fieldProblem(l.rangeOf(fault.Field), fault))
	}
}

// value evaluates attr. It is not ok after an error, nor for null, which is as
// good as not written.
func (l *layer) value(attr *hclsyntax.Attribute) (v cty.Value, ok bool) {
	v, diags := l.evaluator.value(attr.Expr, l.evaluator.scope)
	l.report(diags...)
	switch {
	case !v.IsWhollyKnown():
		if len(l.diags) == 0 {
			l.report(problem(attr.Expr.Range().Ptr(), "Unknown value", "The value cannot be told from this expression."))
		}
		return v, false
	default:
		return v, !v.IsNull()
	}
}

// parts notes where the elements of a list or a map are that is written out, and
// reports keys that are there twice.
func (l *layer) parts(field string, expr hclsyntax.Expression) bool {
	switch expr := expr.(type) {
	case *hclsyntax.TupleConsExpr:
		for i, element := range expr.Exprs {
			l.ranges[field+index(i)] = element.Range().Ptr()
		}
	case *hclsyntax.ObjectConsExpr:
		return l.entries(field, expr)
	}
	return true
}

func (l *layer) entries(field string, object *hclsyntax.ObjectConsExpr) bool {
	ok := true
	for _, item := range object.Items {
		key := hcl.ExprAsKeyword(item.KeyExpr)
		if key == "" {
			v, diags := l.evaluator.value(item.KeyExpr, l.evaluator.scope)
			if l.report(diags...); diags.HasErrors() {
				ok = false
				continue
			}
			key = known(v)
		}
		path := field + member(key)
		ok = l.parts(path, item.ValueExpr) && ok
		if _, twice := l.ranges[path]; twice && key != "" {
			l.report(problem(item.KeyExpr.Range().Ptr(), "Duplicate key", "%q is already set above; keep one.", key))
			ok = false
			continue
		}
		l.ranges[path] = item.ValueExpr.Range().Ptr()
	}
	return ok
}

// validate reports values beyond the bounds. Faults of the template that this one extends are reported there.
func (l *layer) validate() {
	for _, fault := range faults(l.t.value) {
		switch at := l.rangeOf(fault.Field); {
		case fault.Field == "name":
			l.report(fieldProblem(l.t.nameRange(), fault))
		case at != nil:
			l.report(fieldProblem(at, fault))
		case !l.t.failed:
			fault.Message = fmt.Sprintf("%s (inherited with extends)", fault.Message)
			l.report(fieldProblem(l.t.nameRange(), fault))
		}
	}
}

// rangeOf returns where field, or a field that contains it, is set in this block.
func (l *layer) rangeOf(field string) *hcl.Range {
	for ; field != ""; field = parent(field) {
		if at, ok := l.ranges[field]; ok {
			return at
		}
	}
	return nil
}
