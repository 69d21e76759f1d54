package hcl

import (
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/yurtrun/yurt"
)

// Encode writes t as a template block: every field but those that are zero, in the form of [Format], with inherited fields
// spelled out. Reading it gives WithDefaults(t) again, provided that t is valid; as everywhere in HCL, text comes back in
// Unicode's normal form C.
func Encode(t yurt.Template) []byte {
	file := hclwrite.NewEmptyFile()
	body := file.Body().AppendNewBlock("template", []string{t.Name}).Body()
	if t.Description != "" {
		body.SetAttributeValue("description", cty.StringVal(t.Description))
	}
	body.SetAttributeValue("runtimes", texts(t.Runtimes))
	if len(t.Preload) > 0 {
		body.SetAttributeValue("preload", texts(t.Preload))
	}
	if len(t.Env) > 0 {
		body.SetAttributeRaw("env", mapTokens(t.Env))
	}
	if len(t.Dependencies) > 0 {
		body.SetAttributeRaw("dependencies", listTokens(t.Dependencies))
	}
	if len(t.Kernels) > 0 {
		body.SetAttributeRaw("kernels", mapTokens(t.Kernels))
	}
	encodeRootFS(body, t.RootFS)
	encodeSettings(body, "resources", []setting{
		{"cpu", number(t.Resources.CPU)},
		{"memory", size(t.Resources.Memory)},
		{"disk", size(t.Resources.Disk)},
		{"pids", number(float64(t.Resources.PIDs))},
		{"disk_kind", text(string(t.Resources.DiskKind))},
		{"io_weight", number(float64(t.Resources.IOWeight))},
	}, inner{"ulimits", []setting{
		{"nofile", number(float64(t.Resources.Ulimits.NoFile))},
		{"fsize", size(t.Resources.Ulimits.FSize)},
		{"stack", size(t.Resources.Ulimits.Stack)},
	}})
	encodeSettings(body, "isolation", []setting{
		{"level", text(string(t.Isolation.Level))},
		{"per_execution", onlyTrue(t.Isolation.PerExecution)},
		{"system_calls", listOf(t.Isolation.SystemCalls)},
	})
	encodeSettings(body, "network", []setting{
		{"mode", text(string(t.Network.Mode))},
		{"packages", text(string(t.Network.Packages))},
	})
	encodeSettings(body, "session", []setting{
		{"timeout", duration(t.Session.Timeout)},
		{"idle_timeout", duration(t.Session.IdleTimeout)},
		{"execution_timeout", duration(t.Session.ExecutionTimeout)},
		{"output_limit", size(t.Session.OutputLimit)},
	})
	encodeSettings(body, "warm_pool", []setting{
		{"min", number(float64(t.WarmPool.Min))},
		{"max", number(float64(t.WarmPool.Max))},
		{"idle_timeout", duration(t.WarmPool.IdleTimeout)},
		{"interpreter", onlyTrue(t.WarmPool.Interpreter)},
	})
	return hclwrite.Format(file.Bytes())
}

func encodeRootFS(body *hclwrite.Body, root yurt.RootFS) {
	if root.Image != "" {
		body.AppendNewline()
		body.AppendNewBlock("rootfs", nil).Body().SetAttributeValue("image", cty.StringVal(root.Image))
	}
	if len(root.HostPaths) > 0 {
		body.AppendNewline()
		host := body.AppendNewBlock("rootfs", nil).Body().AppendNewBlock("host", nil).Body()
		host.SetAttributeRaw("paths", onLines(root.HostPaths))
	}
}

// setting is an attribute to write; one that is null is left out.
type setting struct {
	name  string
	value cty.Value
}

// inner is a block within a block.
type inner struct {
	name     string
	settings []setting
}

// encodeSettings appends a block with the settings and those of inner blocks, if there
// are any.
func encodeSettings(parent *hclwrite.Body, name string, settings []setting, blocks ...inner) {
	block := hclwrite.NewBlock(name, nil)
	for _, s := range settings {
		if !s.value.IsNull() {
			block.Body().SetAttributeValue(s.name, s.value)
		}
	}
	for _, b := range blocks {
		encodeSettings(block.Body(), b.name, b.settings)
	}
	if len(block.Body().Attributes()) == 0 && len(block.Body().Blocks()) == 0 {
		return
	}
	parent.AppendNewline()
	parent.AppendBlock(block)
}

func texts(list []string) cty.Value {
	values := make([]cty.Value, len(list))
	for i, element := range list {
		values[i] = cty.StringVal(element)
	}
	return cty.TupleVal(values)
}

// mapTokens writes a map by its sorted keys.
func mapTokens(m map[string]string) hclwrite.Tokens {
	entries := make([]hclwrite.ObjectAttrTokens, 0, len(m))
	for _, key := range keysOf(m) {
		entries = append(entries, hclwrite.ObjectAttrTokens{Name: keyTokens(key), Value: hclwrite.TokensForValue(cty.StringVal(m[key]))})
	}
	return hclwrite.TokensForObject(entries)
}

// listTokens writes a map of lists by its sorted keys.
func listTokens(m map[string][]string) hclwrite.Tokens {
	entries := make([]hclwrite.ObjectAttrTokens, 0, len(m))
	for _, key := range keysOf(m) {
		entries = append(entries, hclwrite.ObjectAttrTokens{Name: keyTokens(key), Value: hclwrite.TokensForValue(texts(m[key]))})
	}
	return hclwrite.TokensForObject(entries)
}

func keyTokens(key string) hclwrite.Tokens {
	if !plainName(key) || isKeyword(key) {
		return hclwrite.TokensForValue(cty.StringVal(key))
	}
	return hclwrite.TokensForIdentifier(key)
}

// isKeyword reports whether HCL takes key for something else than a name.
func isKeyword(key string) bool {
	return key == "for" || key == "null" || key == "true" || key == "false"
}

// onLines writes a list with one element a line.
func onLines(list []string) hclwrite.Tokens {
	newline := &hclwrite.Token{Type: hclsyntax.TokenNewline, Bytes: []byte{'\n'}}
	tokens := hclwrite.Tokens{{Type: hclsyntax.TokenOBrack, Bytes: []byte{'['}}, newline}
	for _, element := range list {
		tokens = append(tokens, hclwrite.TokensForValue(cty.StringVal(element))...)
		tokens = append(tokens, &hclwrite.Token{Type: hclsyntax.TokenComma, Bytes: []byte{','}}, newline)
	}
	return append(tokens, &hclwrite.Token{Type: hclsyntax.TokenCBrack, Bytes: []byte{']'}})
}

func text(s string) cty.Value {
	if s == "" {
		return cty.NullVal(cty.String)
	}
	return cty.StringVal(s)
}

// listOf writes a list that has elements.
func listOf(list []string) cty.Value {
	if len(list) == 0 {
		return cty.NullVal(cty.List(cty.String))
	}
	return texts(list)
}

func onlyTrue(b bool) cty.Value {
	if !b {
		return cty.NullVal(cty.Bool)
	}
	return cty.True
}

// number goes by the shortest text of n, so that 0.1 is written as that.
func number(n float64) cty.Value {
	v, err := cty.ParseNumberVal(strconv.FormatFloat(n, 'f', -1, 64))
	if err != nil || n == 0 {
		return cty.NullVal(cty.Number) // not a number, or infinite: no template has it
	}
	return v
}

func size(s yurt.Size) cty.Value {
	if s == 0 {
		return cty.NullVal(cty.String)
	}
	return cty.StringVal(s.String())
}

func duration(d yurt.Duration) cty.Value {
	if d == 0 {
		return cty.NullVal(cty.String)
	}
	return cty.StringVal(shortDuration(d.Std()))
}

// shortDuration writes "30m" where time.Duration writes "30m0s".
func shortDuration(d time.Duration) string {
	long := d.String()
	if d%time.Minute == 0 {
		long = strings.TrimSuffix(long, "0s")
	}
	if d%time.Hour == 0 {
		long = strings.TrimSuffix(long, "0m")
	}
	return long
}
