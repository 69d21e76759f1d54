package hcl

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/yurtrun/yurt"
)

// Parser reads template sources. The zero value is ready to use, and one may be
// used concurrently as long as it is not changed.
type Parser struct {
	// Resolve returns a template that `extends` names and the sources do not define.
	// For one that does not exist it returns [yurt.CodeTemplateNotFound]; any other
	// error ends the parse and is returned. Nil knows the templates of [Defaults].
	Resolve func(name string) (yurt.Template, error)

	// Names lists the templates that Resolve finds, to suggest one for a name that does not exist;
	// nil turns suggestions off.
	Names func() []string

	// Variables are values for variable blocks: text as it is for those of a simple
	// type, an HCL expression such as ["a", "b"] for the others.
	Variables map[string]string

	// VariableFiles hold more values: NAME = VALUE in HCL, or one JSON object where the name
	// of the file ends in ".json". The values are constants. A later file wins over an
	// earlier one, and Variables over all.
	VariableFiles []Source
}

// Source is one piece of HCL text.
type Source struct {
	Name string // of the file, in diagnostics
	Text []byte
}

// Parse reads the templates of one source with the zero [Parser].
func Parse(filename string, src []byte) ([]yurt.Template, error) {
	return (&Parser{}).Parse(Source{Name: filename, Text: src})
}

// ParseFiles reads the templates of files with the zero [Parser].
func ParseFiles(paths ...string) ([]yurt.Template, error) {
	return (&Parser{}).ParseFiles(paths...)
}

// ParseFiles is [Parser.Parse] for files; a directory stands for the files in it whose names end in
// ".hcl", in their order. A file that cannot be read is a [yurt.CodeFileNotFound] error.
func (p *Parser) ParseFiles(paths ...string) ([]yurt.Template, error) {
	var sources []Source
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := readFile(file)
			if err != nil {
				return nil, err
			}
			sources = append(sources, Source{Name: file, Text: text})
		}
	}
	return p.Parse(sources...)
}

// filesOf returns path itself, or the template files in it if it is a directory.
func filesOf(path string) ([]string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, nil //nolint:nilerr // opening it returns the error
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeFileNotFound, "reading the template directory: %w", err)
	}
	var files []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".hcl") && !entry.IsDir() {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, yurt.Errorf(yurt.CodeFileNotFound, "directory %q holds no template files; their names end in \".hcl\"", path)
	}
	return files, nil
}

// readFile reads no more of a file than is needed to see that it is too large.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeFileNotFound, "reading the template file: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxSourceBytes+1))
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeFileNotFound, "reading the template file: %w", err)
	}
	return text, nil
}

// Parse reads the templates of sources, in their order. The sources are one whole: they share
// variables, locals and the names that `extends` finds. Each template is complete and valid. After
// any problem Parse returns only an [*Error].
func (p *Parser) Parse(sources ...Source) ([]yurt.Template, error) {
	run := &parse{parser: p, evaluator: newEvaluator(), files: map[string]*hcl.File{}, schema: templateSchema()}
	run.homes = run.schema.homes("template")
	run.read(sources)
	run.readVariableFiles()
	if len(run.diags) > 0 {
		return nil, run.failure()
	}
	run.sort(sources)
	if !run.withinCounts() {
		return nil, run.failure()
	}
	run.evaluateVariables()
	run.evaluateLocals()
	templates, err := run.decodeTemplates()
	switch {
	case err != nil:
		return nil, err
	case len(run.diags) > 0:
		return nil, run.failure()
	default:
		return templates, nil
	}
}

// parse is one call of Parse.
type parse struct {
	parser    *Parser
	evaluator *evaluator
	files     map[string]*hcl.File
	total     int // bytes of all sources
	diags     hcl.Diagnostics
	schema    *block            // of templates
	homes     map[string]string // block that each name in a template belongs to

	fileValues map[string]fileValue // of variable files

	variables []*hclsyntax.Block
	locals    []*hclsyntax.Block
	templates []*templateBlock
	byName    map[string]*templateBlock
}

func (p *parse) report(d ...*hcl.Diagnostic) { p.diags = append(p.diags, d...) }

// failure is the error of the reported problems.
func (p *parse) failure() error { return newError(p.diags, p.files) }

// read parses the syntax of the sources, within the bounds.
func (p *parse) read(sources []Source) {
	for _, source := range sources {
		p.total += len(source.Text)
		if _, twice := p.files[source.Name]; twice {
			p.report(problem(nil, "Source given twice", "%q is among the sources twice; give it once.", source.Name))
			return
		}
		file := &hcl.File{Bytes: source.Text}
		p.files[source.Name] = file
		if p.total > MaxSourceBytes {
			p.report(tooLarge(source.Name))
			return
		}
		if diags := scan(source.Name, source.Text); len(diags) > 0 {
			p.report(diags...)
			continue
		}
		parsed, diags := hclsyntax.ParseConfig(source.Text, source.Name, hcl.InitialPos)
		p.report(diags...)
		if parsed != nil {
			p.files[source.Name] = parsed
		}
	}
}

func tooLarge(filename string) *hcl.Diagnostic {
	start := hcl.Range{Filename: filename, Start: hcl.InitialPos, End: hcl.InitialPos}
	return problem(&start, "Source too large", "All template sources together may have at most %d bytes.", MaxSourceBytes)
}

// sort puts the blocks of all sources to their kinds.
func (p *parse) sort(sources []Source) {
	p.byName = map[string]*templateBlock{}
	for _, source := range sources {
		body, ok := p.files[source.Name].Body.(*hclsyntax.Body)
		if !ok {
			panic("hcl: a parsed file without a native body") // ParseConfig always returns one
		}
		p.meter(body)
		for _, attr := range attributesOf(body) {
			p.report(p.rootAttribute(attr))
		}
		for _, b := range body.Blocks {
			p.sortBlock(b)
		}
	}
}

// withinCounts reports whether there are not too many blocks of a kind.
func (p *parse) withinCounts() bool {
	locals := 0
	for _, b := range p.locals {
		locals += len(b.Body.Attributes)
	}
	ok := true
	for _, kind := range []struct {
		name     string
		n, limit int
	}{
		{"templates", len(p.templates), MaxTemplates},
		{"variables", len(p.variables), MaxVariables},
		{"locals", locals, MaxLocals},
	} {
		if kind.n > kind.limit {
			p.report(problem(nil, "Too many "+kind.name, "There are %d %s; at most %d are allowed.", kind.n, kind.name, kind.limit))
			ok = false
		}
	}
	return ok
}

// meter prepares expressions for the budget.
func (p *parse) meter(node hclsyntax.Node) {
	diags := meter(node, p.evaluator.budget)
	p.evaluator.reported = p.evaluator.reported || len(diags) > 0
	p.report(diags...)
}

func (p *parse) sortBlock(b *hclsyntax.Block) {
	switch b.Type {
	case "template":
		p.addTemplate(b)
	case "variable":
		if p.oneLabel(b, "name") {
			p.variables = append(p.variables, b)
		}
	case "locals":
		if p.noLabels(b) {
			p.locals = append(p.locals, b)
		}
	default:
		p.report(p.rootBlock(b))
	}
}

func (p *parse) rootBlock(b *hclsyntax.Block) *hcl.Diagnostic {
	if home, ok := p.homes[b.Type]; ok {
		return problem(&b.TypeRange, "Unknown block", "%q belongs in a %s block; move it there.", b.Type, home)
	}
	names := []string{"template", "variable", "locals"}
	return problem(&b.TypeRange, "Unknown block", "There is no block %q at the top of a template file.%s Allowed are template, variable and locals.", b.Type, didYouMean(b.Type, names))
}

func (p *parse) rootAttribute(attr *hclsyntax.Attribute) *hcl.Diagnostic {
	if home, ok := p.homes[attr.Name]; ok {
		return problem(&attr.NameRange, "Unknown attribute", "%q belongs in a %s block; move it there.", attr.Name, home)
	}
	return problem(&attr.NameRange, "Unknown attribute", "At the top of a template file there are only blocks: template, variable and locals. To name a value, write locals { %s = … }.", attr.Name)
}

// oneLabel checks that b has exactly one label, its name.
func (p *parse) oneLabel(b *hclsyntax.Block, what string) bool {
	switch len(b.Labels) {
	case 1:
		return true
	case 0:
		p.report(problem(&b.TypeRange, "Missing name", "A %s block has a %s: write %s \"NAME\" { … }.", b.Type, what, b.Type))
	default:
		p.report(problem(&b.LabelRanges[1], "Too many labels", "A %s block has one label, its %s.", b.Type, what))
	}
	return false
}

func (p *parse) noLabels(b *hclsyntax.Block) bool {
	if len(b.Labels) == 0 {
		return true
	}
	p.report(problem(&b.LabelRanges[0], "Unexpected label", "A %s block has no label: write %s { … }.", b.Type, b.Type))
	return false
}

// attributesOf returns the attributes of body in the order of the source.
func attributesOf(body *hclsyntax.Body) []*hclsyntax.Attribute {
	attrs := make([]*hclsyntax.Attribute, 0, len(body.Attributes))
	for _, attr := range body.Attributes {
		attrs = append(attrs, attr)
	}
	slices.SortFunc(attrs, func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
	return attrs
}

// resolve finds a template that the sources do not define.
func (p *parse) resolve(name string) (t yurt.Template, found bool, err error) {
	if p.parser.Resolve == nil {
		defaults, err := Defaults()
		i := slices.IndexFunc(defaults, func(t yurt.Template) bool { return t.Name == name })
		if err != nil || i < 0 {
			return yurt.Template{}, false, err
		}
		return defaults[i], true, nil
	}
	t, err = p.parser.Resolve(name)
	var fault *yurt.Error
	switch {
	case err == nil:
		return t, true, nil
	case errors.As(err, &fault) && fault.Code == yurt.CodeTemplateNotFound:
		return yurt.Template{}, false, nil
	default:
		return yurt.Template{}, false, fmt.Errorf("finding template %q: %w", name, err)
	}
}
