package hcl

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// checker says of names in a block whether they may be there, and if not which name to write instead.
type checker struct {
	homes  map[string]string // block that each name belongs to
	report func(...*hcl.Diagnostic)
}

// attribute reports whether attr is one that schema knows.
func (c *checker) attribute(schema *block, title string, attr *hclsyntax.Attribute) bool {
	if _, ok := schema.attributes[attr.Name]; ok {
		return true
	}
	if _, ok := schema.blocks[attr.Name]; ok {
		c.report(problem(&attr.NameRange, "Block expected", "%q is a block: write %s { … } without \"=\".", attr.Name, attr.Name))
		return false
	}
	c.unknown(schema, title, "attribute", attr.Name, attr.NameRange)
	return false
}

// block returns the schema of b if parent knows it.
func (c *checker) block(parent *block, title string, b *hclsyntax.Block) (*block, bool) {
	if schema, ok := parent.blocks[b.Type]; ok {
		if len(b.Labels) > 0 {
			c.report(problem(&b.LabelRanges[0], "Unexpected label", "A %s block has no label: write %s { … }.", b.Type, b.Type))
			return nil, false
		}
		return schema, true
	}
	if _, ok := parent.attributes[b.Type]; ok {
		c.report(problem(&b.TypeRange, "Attribute expected", "%q is an attribute: write %s = … with \"=\".", b.Type, b.Type))
		return nil, false
	}
	c.unknown(parent, title, "block", b.Type, b.TypeRange)
	return nil, false
}

func (c *checker) unknown(schema *block, title, kind, name string, at hcl.Range) {
	if what, ok := schema.later[name]; ok {
		c.report(notSupported(&at, what, name))
		return
	}
	names := schema.names()
	detail := fmt.Sprintf("There is no %s %q in a %s block.", kind, name, title)
	if home, ok := c.homes[name]; ok {
		detail += fmt.Sprintf(" It belongs in the %s block; move it there.", home)
	} else if guess := didYouMean(name, names); guess != "" {
		detail += guess
	} else {
		detail += " Allowed are " + strings.Join(names, ", ") + "."
	}
	c.report(problem(&at, "Unknown "+kind, "%s", detail))
}

func notSupported(at *hcl.Range, what, name string) *hcl.Diagnostic {
	return problem(at, summaryNotSupported, "%s", notSupportedText(what, name))
}

func notSupportedText(what, name string) string {
	return fmt.Sprintf("%q (%s) is not supported yet by this version of Yurt; remove it", name, what)
}
