package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/bash"
	"github.com/yurtrun/yurt/plugins/cfamily"
	"github.com/yurtrun/yurt/plugins/csharp"
	"github.com/yurtrun/yurt/plugins/golang"
	"github.com/yurtrun/yurt/plugins/java"
	"github.com/yurtrun/yurt/plugins/javascript"
	"github.com/yurtrun/yurt/plugins/python"
	"github.com/yurtrun/yurt/plugins/rust"
	"github.com/yurtrun/yurt/plugins/typescript"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// program is a whole program of a language that says hello, and the commands by which its toolchain
// makes and runs it without a sandbox: as the language's runtime does, with the flags that affect
// speed.
type program struct {
	runtime      plugins.Runtime
	file, source string
	commands     func(tools map[string]string, dir, file string) [][]string
}

// codeBenches are the rows of a snippet in each language.
func codeBenches() []bench {
	var rows []bench
	for _, row := range []struct {
		language string
		n        int
		program  program
	}{
		{"bash", 60, program{bash.Runtime{}, "main.sh", "echo hello\n", interpreted("bash")}},
		{"python", 60, program{python.Runtime{}, "main.py", "print('hello')\n", interpreted("python3")}},
		{"javascript", 60, program{javascript.Runtime{}, "main.js", "console.log('hello')\n", interpreted("node")}},
		{"typescript", 40, program{typescript.Runtime{}, "main.ts", "const word: string = 'hello'\nconsole.log(word)\n", bundled}},
		{"c", 40, program{cfamily.C(), "main.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n", compiledC("cc", "-std=gnu17")}},
		{"cpp", 20, program{cfamily.CPP(), "main.cpp", "#include <iostream>\nint main() { std::cout << \"hello\\n\"; }\n", compiledC("c++", "-std=gnu++20")}},
		{"rust", 20, program{rust.Runtime{}, "main.rs", "fn main() { println!(\"hello\"); }\n", compiledRust}},
		{"go", 20, program{golang.Runtime{}, "main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n", compiledGo}},
		{"java", 20, program{java.Runtime{}, "Main.java", "public class Main { public static void main(String[] args) { System.out.println(\"hello\"); } }\n", compiledJava}},
		{"csharp", 20, program{csharp.Runtime{}, "main.cs", "class Program { static void Main() { System.Console.WriteLine(\"hello\"); } }\n", compiledCSharp}},
	} {
		rows = append(rows, bench{name: "code-" + row.language, n: row.n, pause: isolated, prepare: func(p *place) ([]contender, error) {
			return codeContenders(p, row.language, row.program)
		}})
	}
	return rows
}

func interpreted(tool string) func(map[string]string, string, string) [][]string {
	return func(tools map[string]string, _, file string) [][]string { return [][]string{{tools[tool], file}} }
}

func bundled(tools map[string]string, dir, file string) [][]string {
	bundle := filepath.Join(dir, "main.mjs")
	return [][]string{
		{tools["esbuild"], "--bundle", "--format=esm", "--platform=node", "--target=node18", "--sourcemap=inline", "--log-level=warning", "--outfile=" + bundle, file},
		{tools["node"], "--enable-source-maps", bundle},
	}
}

func compiledC(compiler string, flags ...string) func(map[string]string, string, string) [][]string {
	return func(tools map[string]string, dir, file string) [][]string {
		out := filepath.Join(dir, "main")
		return [][]string{append(append([]string{tools[compiler]}, flags...), "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", out, file), {out}}
	}
}

func compiledRust(tools map[string]string, dir, file string) [][]string {
	out := filepath.Join(dir, "main")
	return [][]string{
		{tools["rustc"], "--edition", "2021", "-C", "prefer-dynamic", "-C", "rpath", "-C", "debuginfo=1", "-C", "opt-level=1", "-C", "debug-assertions=on", "-o", out, file},
		{out},
	}
}

func compiledGo(tools map[string]string, dir, file string) [][]string {
	out := filepath.Join(dir, "main")
	return [][]string{{tools["go"], "build", "-buildvcs=false", "-ldflags=-w", "-o", out, file}, {out}}
}

func compiledJava(tools map[string]string, dir, file string) [][]string {
	return [][]string{
		{tools["javac"], "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-XX:-UsePerfData", "-proc:none", "-g", "-d", dir, file},
		{tools["java"], "-XX:-UsePerfData", "-XX:+UseSerialGC", "-cp", dir, "Main"},
	}
}

func compiledCSharp(tools map[string]string, dir, file string) [][]string {
	out := filepath.Join(dir, "main.exe")
	return [][]string{{tools["mcs"], "-nologo", "-debug", "-langversion:latest", "-out:" + out, file}, {tools["mono"], "--debug", out}}
}

// codeContenders are a snippet in a session that has run it before, through the REST API,
// and the plain toolchain, from a fresh directory each time as a run has one.
func codeContenders(p *place, language string, program program) ([]contender, error) {
	tools, err := program.tools(p)
	if err != nil {
		return nil, err
	}
	client, session, err := restSessionOf(p, language+"-basic")
	if err != nil {
		return nil, err
	}
	request := yurtclient.ExecuteRequest{Language: language, Code: program.source, Context: yurtclient.InContext("")}
	dir := filepath.Join(p.dir, "plain")
	file := filepath.Join(dir, program.file)
	return []contender{
		{name: "yurt", do: func() error {
			done, err := client.Execute(p.ctx, session, request)
			if err == nil && done.Result.Stdout != "hello\n" {
				err = fmt.Errorf("it said %q, and %q", done.Result.Stdout, done.Result.Stderr)
			}
			return err
		}},
		{
			name:   "plain",
			before: func() error { return os.Mkdir(dir, 0o755) },
			do: func() error {
				if err := os.WriteFile(file, []byte(program.source), 0o644); err != nil {
					return err
				}
				for _, argv := range program.commands(tools, dir, file) {
					if err := command(argv[0], argv[1:]...); err != nil {
						return err
					}
				}
				return nil
			},
			after: func() error { return os.RemoveAll(dir) },
		},
	}, nil
}

// tools are the programs of this machine that the runtime would take.
func (program program) tools(p *place) (map[string]string, error) {
	info, err := program.runtime.Describe(p.ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]string)
	for _, tool := range info.Tools {
		for _, path := range tool.Paths {
			if _, err := os.Stat(path); err == nil {
				found[tool.Name] = path
				break
			}
		}
		if found[tool.Name] == "" && !tool.Optional {
			return nil, yurt.Errorf(yurt.CodeLanguageNotSupported, "%s is not here; %s", tool.Name, tool.Install)
		}
	}
	return found, nil
}
