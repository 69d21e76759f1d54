package java

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/compiled"
)

// defaultClass is the class of a snippet that names no class.
const defaultClass = "Main"

// program is a snippet as a file.
type program struct {
	code        string
	packageName string
	class       string // that the file is named after
	mainClass   string // that has the main method
	inserted    *plugins.Insertion
}

// main is the name by which the class is started.
func (p program) main() string {
	if p.packageName == "" {
		return p.mainClass
	}
	return p.packageName + "." + p.mainClass
}

// imports are those that JShell begins with.
const imports = "import java.io.*; import java.math.*; import java.net.*; import java.nio.file.*; import java.util.*; " +
	"import java.util.concurrent.*; import java.util.function.*; import java.util.regex.*; import java.util.stream.*; "

// wrap makes a program of a snippet. A file with a class that has a main method is one; methods
// without a class, main among them, get a class; all else is the body of main. Imports stay in
// front, and lines keep their numbers.
//
// A snippet has the imports of JShell too. One that imports another whole package has its own
// alone: a name that is in both would be ambiguous.
//
// Methods and sealed types before or after the statements cannot be in a method. They become members of the
// class, and the statements a method of an object, so that the members need not be static.
func wrap(code string) program {
	o := survey(code)
	if o.mainMethod || o.types > 0 && o.others == 0 {
		return program{code: code, packageName: packageOf(code), class: o.class, mainClass: o.mainClass}
	}
	open, end := "public class Main { public static void main(String[] args) throws Exception {", "\n}}\n"
	body := code[o.header:]
	if o.mainOutside {
		open, end = "public class Main {", "\n}\n"
	} else if from, to, ok := statements(code, o.header); ok {
		open, end = "public class Main { public static void main(String[] args) throws Exception { new Main().run(args); }", "\n}\n"
		body = code[o.header:from] + " void run(String[] args) throws Exception {" + code[from:to] + "}" + code[to:]
	}
	if onlyKnownPackages(code[:o.header]) {
		open = imports + open
	}
	return program{
		code:        code[:o.header] + open + body + end,
		packageName: packageOf(code), class: defaultClass, mainClass: defaultClass,
		inserted: compiled.Inserted(defaultClass+".java", code[:o.header], open),
	}
}

// statements returns the begin and the end of the statements behind the header, without the declarations before
// and after them. It reports whether one of these can only be a member of a class.
func statements(code string, header int) (from, to int, ok bool) {
	blank := compiled.Blank(code, compiled.Dialect{Triple: true})
	from = -1
	at := 0
	for _, piece := range (compiled.Splitter{}).Split(code, blank) {
		begin := at
		at += len(piece.Text)
		name, _ := typeName(piece)
		switch {
		case begin < header:
		case name != "":
			ok = ok || slices.Contains(piece.Words, "sealed")
		case piece.DefinesFunction():
			ok = true
		case from < 0:
			from, to = begin, at
		default:
			to = at
		}
	}
	if from < 0 {
		return 0, 0, false
	}
	return max(header, codeEnd(blank, from)), codeEnd(blank, to), ok
}

// codeEnd is the end of the last code before a place. A comment there would hide text that is inserted behind it.
func codeEnd(blank string, at int) int {
	return len(strings.TrimRightFunc(blank[:at], unicode.IsSpace))
}

var wholePackage = regexp.MustCompile(`import\s+[\w.]+\.\*\s*;`)

// onlyKnownPackages reports whether the header imports no whole package but those of imports.
func onlyKnownPackages(header string) bool {
	for _, each := range wholePackage.FindAllString(header, -1) {
		if !strings.Contains(imports, strings.Join(strings.Fields(each), " ")) {
			return false
		}
	}
	return true
}

// outline counts the declarations and statements at the top level of a file.
type outline struct {
	header      int    // end of the package and the imports that it begins with
	types       int    // classes and the like
	others      int    // neither of the two
	class       string // that the file has to be named after: the public one, or the first
	mainClass   string // the last one with a main method, or the first
	mainMethod  bool   // in a class
	mainOutside bool   // without a class
}

func survey(code string) outline {
	dialect := compiled.Dialect{Triple: true}
	o := outline{class: defaultClass, mainClass: defaultClass}
	for _, piece := range (compiled.Splitter{}).Split(code, compiled.Blank(code, dialect)) {
		name, public := typeName(piece)
		switch {
		case piece.Is("package", "import"):
			if o.types+o.others == 0 {
				o.header += len(piece.Text)
			}
		case name != "":
			hasMain := compiled.HasFunction(compiled.Blank(piece.Text, dialect), "main")
			if public || o.types == 0 {
				o.class = name
			}
			if hasMain || o.types == 0 {
				o.mainClass = name
			}
			o.types++
			o.mainMethod = o.mainMethod || hasMain
		default:
			o.others++
			o.mainOutside = o.mainOutside || piece.DefinesFunction() && slices.Contains(piece.Words, "main")
		}
	}
	return o
}

// typeName returns the name of the class, interface, record or enum that the piece
// declares, and whether it is public.
func typeName(piece compiled.Piece) (name string, public bool) {
	for i, word := range piece.Words {
		switch word {
		case "class", "interface", "record", "enum":
			if i+1 < len(piece.Words) && utf8.ValidString(piece.Words[i+1]) {
				return piece.Words[i+1], public
			}
		case "public":
			public = true
		case "abstract", "final", "sealed", "non", "-", "static", "strictfp", "private", "protected":
		default:
			return "", false
		}
	}
	return "", false
}

// packageOf returns the package that the code says it is in, or "".
func packageOf(code string) string {
	pieces := compiled.Splitter{}.Split(code, compiled.Blank(code, compiled.Dialect{Triple: true}))
	if len(pieces) == 0 || !pieces[0].Is("package") {
		return ""
	}
	text := strings.TrimSuffix(strings.TrimSpace(pieces[0].Head), ";")
	name := strings.Join(strings.Fields(text)[1:], "")
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "" // javac reports the error
	}
	return name
}
