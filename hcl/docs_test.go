package hcl

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

const reference = "../docs/TEMPLATES.md"

func referenceText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// examples returns the code blocks of the reference that are in a language.
func examples(t *testing.T, language string) []string {
	t.Helper()
	var found []string
	for _, match := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllStringSubmatch(referenceText(t), -1) {
		found = append(found, match[1]+"\n")
	}
	return found
}

func TestReferenceExamples(t *testing.T) {
	inHCL, inJSON := examples(t, "hcl"), examples(t, "json")
	if len(inHCL) < 4 || len(inJSON) < 1 {
		t.Fatalf("there are %d and %d examples", len(inHCL), len(inJSON))
	}
	for i, src := range inHCL {
		templates, err := Parse(fmt.Sprintf("example-%d.hcl", i), []byte(src))
		if err != nil || len(templates) == 0 {
			t.Errorf("example %d gives %d templates: %v", i, len(templates), err)
		}
		if formatted, err := Format([]byte(src)); err != nil || string(formatted) != src {
			t.Errorf("example %d is not formatted (%v):\n%s", i, err, formatted)
		}
	}
	for i, src := range inJSON {
		if _, err := ParseJSON([]byte(src)); err != nil {
			t.Errorf("JSON example %d: %v", i, err)
		}
	}
}

// TestReferenceIsComplete: it names everything that the language has, and no bound
// that the code has not.
func TestReferenceIsComplete(t *testing.T) {
	text := referenceText(t)
	var words []string
	for name := range templateSchema().homes("template") {
		words = append(words, name)
	}
	words = append(words, "variable", "locals")
	for name := range library() {
		words = append(words, name)
	}
	words = append(words, yurt.DefaultHostPaths()...)
	for _, reserved := range reservedPaths() {
		words = append(words, reserved.path)
	}
	defaults := WithDefaults(yurt.Template{})
	for _, size := range []yurt.Size{defaults.Resources.Memory, defaults.Resources.Disk, defaults.Session.OutputLimit} {
		words = append(words, fmt.Sprintf("%q", size.String()))
	}
	for _, d := range []yurt.Duration{defaults.Session.Timeout, defaults.Session.IdleTimeout, defaults.Session.ExecutionTimeout} {
		words = append(words, fmt.Sprintf("%q", shortDuration(d.Std())))
	}
	for _, word := range append(words, "1", "256", `"namespaces"`, `"none"`) {
		if !strings.Contains(text, "`"+word+"`") {
			t.Errorf("%s does not name `%s`", reference, word)
		}
	}
	for _, bound := range []string{
		fmt.Sprintf("%v to %v", yurt.MinCPU, yurt.MaxCPU),
		fmt.Sprintf("%s to %s", yurt.Size(yurt.MinMemory), yurt.Size(yurt.MaxMemory)),
		fmt.Sprintf("%s to %s", yurt.Size(yurt.MinDisk), yurt.Size(yurt.MaxDisk)),
		fmt.Sprintf("%d to %d", yurt.MinPIDs, yurt.MaxPIDs),
		fmt.Sprintf("%s to %d days", shortDuration(yurt.MinSessionTimeout), yurt.MaxSessionTimeout/(24*time.Hour)),
		fmt.Sprintf("%s to %s", shortDuration(yurt.MinExecutionTimeout), shortDuration(yurt.MaxExecutionTimeout)),
		fmt.Sprintf("1 to %s", yurt.Size(yurt.MaxOutputLimit)),
		fmt.Sprintf("at most %d bytes", MaxDescriptionBytes),
		fmt.Sprintf("at most %d characters", maxNameBytes),
		fmt.Sprintf("At most %d |", MaxRuntimes),
		fmt.Sprintf("at most %d of at most %d characters |", MaxPreload, maxModuleBytes),
		fmt.Sprintf("At most %d |", MaxHostPaths),
		fmt.Sprintf("at most %d variables and\n%s of", yurt.MaxEnvCount, yurt.Size(yurt.MaxEnvBytes)),
		fmt.Sprintf("| %d bytes |", MaxSourceBytes),
		fmt.Sprintf("| %d |", MaxTokens),
		fmt.Sprintf("| %d each |", MaxTemplates),
		fmt.Sprintf("| %d |", MaxLocals),
		fmt.Sprintf("| %d |", MaxNesting),
		fmt.Sprintf("| %d words", MaxExpressionTokens),
		fmt.Sprintf("| %d characters", MaxNumberBytes),
		fmt.Sprintf("| %d bytes |", MaxTextBytes),
		fmt.Sprintf("| %d MiB |", EvaluationBudget>>20),
		fmt.Sprintf("| %d |", MaxDiagnostics),
	} {
		if !strings.Contains(text, bound) {
			t.Errorf("%s does not say %q", reference, bound)
		}
	}
	if MaxVariables != MaxTemplates {
		t.Error("the reference says that there may be as many variables as templates")
	}
}

// TestReferenceError: the error that it shows is the one that comes.
func TestReferenceError(t *testing.T) {
	shown := examples(t, "text")
	src := "template \"data\" {\n" + strings.Repeat("\n", 4) + "  resources {\n    memry = \"2Gi\"\n  }\n}\n"
	e := parseError(t, "data.hcl", src)
	if len(shown) != 1 || shown[0] != e.Error() {
		t.Errorf("shown is\n%s\nand it is\n%s", shown, e)
	}
}

// TestReferenceLater: each setting that the page lists as not yet built is refused as such.
func TestReferenceLater(t *testing.T) {
	for _, body := range []string{
		"rootfs {\n directory = \"/x\"\n}", "rootfs {\n tarball = \"x\"\n}",
		"build {\n}", "packages = []", "packages {\n}", "mount {\n}", "mounts = []", "start_command = []", "ready_command = []",
		"isolation {\n level = \"gvisor\"\n}", "isolation {\n strict = true\n}", "network {\n mode = \"egress\"\n}", "network {\n egress {\n}\n}",
		"network {\n mode = \"bridge\"\n}", "network {\n mode = \"host\"\n}", "for_each = []", "dynamic \"env\" {\n}",
	} {
		e := parseError(t, "x.hcl", "template \"x\" {\n"+body+"\n}\n")
		for _, d := range e.Diagnostics {
			if d.Summary != summaryNotSupported || !strings.Contains(d.Detail, "not supported yet by this version") {
				t.Errorf("%q gives %v", body, e)
			}
		}
	}
}
