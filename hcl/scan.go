package hcl

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// scan checks the tokens of src before they are parsed. The parser recurses as deep
// as its input nests, and Go cannot recover from a stack that is too deep, so the
// depth has to be known first.
func scan(filename string, src []byte) hcl.Diagnostics {
	// The parser reports the lexer's problems again, and better.
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	if len(tokens) > MaxTokens {
		return hcl.Diagnostics{problem(&tokens[MaxTokens].Range, "Source too large", "A source may have at most %d words, numbers, signs and line ends.", MaxTokens)}
	}
	s := scanner{}
	for _, token := range tokens {
		if d := s.next(token); d != nil {
			return hcl.Diagnostics{d}
		}
	}
	return nil
}

// scanner follows nesting, and the length of the expression that it is in. It may think of broken
// source that an expression goes on where the parser has given up, but never the other way round: a
// closer that does not match is ignored.
type scanner struct {
	open       []hclsyntax.TokenType // openers not closed yet
	expression bool                  // inside the value of an attribute
	base       int                   // len(open) where it began
	length     int                   // its tokens so far
}

func (s *scanner) next(token hclsyntax.Token) *hcl.Diagnostic {
	switch {
	case token.Type == hclsyntax.TokenNumberLit && !sensibleNumber(token.Bytes):
		return problem(&token.Range, "Number too large", "A number has at most %d characters and an exponent of at most two digits.", MaxNumberBytes)
	case len(token.Bytes) > MaxTextBytes && token.Type != hclsyntax.TokenComment:
		return problem(&token.Range, "Text too long", "One text has at most %d bytes.", MaxTextBytes)
	}
	s.nest(token.Type)
	if len(s.open) > MaxNesting {
		return problem(&token.Range, "Nested too deeply", "Blocks, brackets, quotes and interpolations may be nested at most %d deep.", MaxNesting)
	}
	switch {
	case !s.expression && token.Type == hclsyntax.TokenEqual:
		s.expression, s.base, s.length = true, len(s.open), 0
	case s.expression && token.Type == hclsyntax.TokenNewline && len(s.open) <= s.base:
		s.expression = false
	case s.expression:
		s.length++
	}
	if s.length > MaxExpressionTokens {
		return problem(&token.Range, "Expression too long", "An expression may have at most %d parts; this one goes on here, or a bracket before it is not closed. Split it with locals.", MaxExpressionTokens)
	}
	return nil
}

func (s *scanner) nest(t hclsyntax.TokenType) {
	if closerOf(t) != hclsyntax.TokenNil {
		s.open = append(s.open, t)
		return
	}
	if n := len(s.open); n > 0 && closerOf(s.open[n-1]) == t {
		s.open = s.open[:n-1]
	}
}

// closerOf returns the token that closes t, or TokenNil if t is no opener.
func closerOf(t hclsyntax.TokenType) hclsyntax.TokenType {
	switch t {
	case hclsyntax.TokenOBrace:
		return hclsyntax.TokenCBrace
	case hclsyntax.TokenOBrack:
		return hclsyntax.TokenCBrack
	case hclsyntax.TokenOParen:
		return hclsyntax.TokenCParen
	case hclsyntax.TokenOQuote:
		return hclsyntax.TokenCQuote
	case hclsyntax.TokenOHeredoc:
		return hclsyntax.TokenCHeredoc
	case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		return hclsyntax.TokenTemplateSeqEnd
	default:
		return hclsyntax.TokenNil
	}
}

// sensibleNumber reports whether a number can be computed with: 1e999999999 is
// quickly written, and takes a gigabyte to print.
func sensibleNumber(text []byte) bool {
	if len(text) > MaxNumberBytes {
		return false
	}
	i := bytes.IndexAny(text, "eE")
	return i < 0 || len(bytes.TrimLeft(text[i+1:], "+-0")) <= 2
}
