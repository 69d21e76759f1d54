package hcl

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// Format returns src in the canonical style: two spaces a level, equals signs aligned. Only whitespace changes. Text that does
// not parse is an [*Error] without file name; the meaning is not checked.
func Format(src []byte) ([]byte, error) {
	if len(src) > MaxSourceBytes {
		return nil, newError(hcl.Diagnostics{tooLarge("")}, nil)
	}
	file := &hcl.File{Bytes: src}
	diags := scan("", src)
	if len(diags) == 0 {
		file, diags = hclsyntax.ParseConfig(src, "", hcl.InitialPos)
	}
	if diags.HasErrors() {
		return nil, newError(diags, map[string]*hcl.File{"": file})
	}
	return hclwrite.Format(src), nil
}
