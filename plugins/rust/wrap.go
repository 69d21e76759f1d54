package rust

import (
	"strings"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/compiled"
)

// wrap puts a snippet without a main function into one. Items can stand there too, only attributes
// of the whole crate cannot, and come first. With a question mark in it, it is as if main returned
// a Result. Lines keep their numbers, and the text inserted into one is returned too.
func wrap(code string) (string, *plugins.Insertion) {
	blank := compiled.Blank(code, compiled.Dialect{Nested: true, Lifetimes: true})
	if definesMain(blank) {
		return code, nil
	}
	from := crateAttributes(code, blank)
	open, end := "fn main() {", "\n}\n"
	if usesQuestionMark(blank) {
		open, end = "#[allow(redundant_semicolons)] fn main() -> Result<(), Box<dyn std::error::Error>> {", "\n;Ok(())}\n"
	}
	return code[:from] + open + code[from:] + end, compiled.Inserted(snippet, code[:from], open)
}

func definesMain(blank string) bool {
	words := strings.Fields(strings.NewReplacer("(", " ( ", "<", " < ").Replace(blank))
	for i := 0; i+2 < len(words); i++ {
		if words[i] == "fn" && words[i+1] == "main" && words[i+2] == "(" {
			return true
		}
	}
	return false
}

// crateAttributes returns the end of the lines like #![allow(dead_code)] that the code
// begins with.
func crateAttributes(code, blank string) int {
	end := 0
	for {
		rest := strings.TrimLeft(blank[end:], " \t\r\n")
		if !strings.HasPrefix(rest, "#![") {
			return end
		}
		begin := len(blank) - len(rest)
		closing := strings.IndexByte(blank[begin:], ']')
		if closing < 0 {
			return len(code)
		}
		end = begin + closing + 1
	}
}

// usesQuestionMark reports whether an error is passed on, as in read()?;
func usesQuestionMark(blank string) bool {
	for i := 1; i < len(blank); i++ {
		if blank[i] == '?' && (blank[i-1] == ')' || blank[i-1] == '}' || blank[i-1] == ']') {
			return true
		}
	}
	return false
}
