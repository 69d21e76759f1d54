package java

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Version is the version of this runtime, not of Java.
const Version = "0.1.0"

// Runtime plans runs of Java. It has no state; the zero value is ready, and safe for
// concurrent use.
type Runtime struct{}

var (
	_ plugins.Runtime     = Runtime{}
	_ plugins.Interpreter = Runtime{}
)

// Describe implements [plugins.Runtime].
func (Runtime) Describe(context.Context) (yurt.RuntimeInfo, error) {
	const install = "install Debian's default-jdk-headless"
	tool := func(name string) yurt.Tool {
		return yurt.Tool{Name: name, Install: install, Paths: []string{
			"/usr/lib/jvm/default-java/bin/" + name, "/usr/bin/" + name, "/usr/local/bin/" + name, "/opt/java/openjdk/bin/" + name,
		}}
	}
	return yurt.RuntimeInfo{
		Name:       "java",
		Version:    Version,
		Languages:  []string{"java"},
		Extensions: []string{".java"},
		Abilities:  []string{string(yurt.KindCode), plugins.AbilityProject, plugins.AbilityDependencies, plugins.AbilityKernel},
		Tools: []yurt.Tool{tool("javac"), tool("java"), {
			Name: "mvn", Paths: []string{"/usr/share/maven/bin/mvn", "/opt/maven/bin/mvn", "/usr/local/bin/mvn"},
			Install: "install Maven, on Debian with apt-get install maven", Optional: true,
		}},
		// Debian keeps a part of a JDK and of Maven in /etc.
		HostPaths: []string{"/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk", "/etc/maven"},
	}, nil
}

// Plan implements [plugins.Runtime].
func (Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	if req.Kind != yurt.KindCode {
		return plugins.Plan{}, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "%q is not something that Java can run; give %q", req.Kind, yurt.KindCode)
	}
	plan := plugins.Plan{Interpret: true}
	var source, root, main string
	if req.Entry == "" {
		program := wrap(req.Code)
		plan.Inserted = program.inserted
		plan.Files = []plugins.File{{Path: program.class + ".java", Data: []byte(program.code), Mode: 0o644}}
		source, root, main = path.Join(req.Dir, program.class+".java"), req.Dir, program.main()
	} else {
		source = path.Join(req.Root, req.Entry)
		root, main = entryClass(req, source)
	}
	classes := path.Join(req.OutDir, "classes")
	libraries := path.Join(req.Root, "lib", "*")
	if req.Layer != "" {
		libraries += ":" + path.Join(req.Layer, "lib", "*")
	}
	plan.Compile = []plugins.Step{{Argv: slices.Concat([]string{req.Tools["javac"]}, compilerFlags(),
		[]string{"-sourcepath", root, "-cp", libraries, "-d", classes, source})}}
	plan.Argv = slices.Concat([]string{req.Tools["java"]}, heap(req.MemoryLimit),
		[]string{"-XX:-UsePerfData", "-XX:+UseSerialGC", "-cp", classes + ":" + root + ":" + libraries, main}, req.Args)
	return plan, nil
}

// compilerFlags have javac start quickly and report only errors.
func compilerFlags() []string {
	return []string{
		"-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-XX:-UsePerfData", "-J-Xshare:auto",
		"-encoding", "UTF-8", "-proc:none", "-nowarn", "-Xlint:none", "-g",
	}
}

// heap bounds the heap so that a program that needs more gets an OutOfMemoryError, and
// is not killed with its whole sandbox: the rest is for code, threads and the workspace.
func heap(limit yurt.Size) []string {
	if limit <= 0 {
		return nil
	}
	return []string{fmt.Sprintf("-Xmx%dm", max(int64(limit)>>20*6/10, 8))}
}

// entryClass returns the directory in which the packages of the entry begin, and the
// name of its class.
func entryClass(req plugins.PlanRequest, source string) (root, main string) {
	class := strings.TrimSuffix(path.Base(req.Entry), ".java")
	dir := path.Dir(source)
	i := slices.IndexFunc(req.Files, func(f plugins.File) bool { return f.Path == req.Entry })
	if i < 0 {
		return dir, class
	}
	name := packageOf(string(req.Files[i].Data))
	if name == "" {
		return dir, class
	}
	below := "/" + strings.ReplaceAll(name, ".", "/")
	return strings.TrimSuffix(dir, below), name + "." + class
}
