package sdk

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/nodejs"
	"github.com/yurtrun/yurt/test/testutil"
)

func typescript(t testing.TB) string { return filepath.Join(testutil.Root(t), "sdk", "typescript") }

// node returns a Node of version 20 or newer: the machine's, or one that npm brings.
func node(t testing.TB) string {
	t.Helper()
	program, err := nodejs.Node(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// npm runs npm in dir.
func npm(t testing.TB, dir string, args ...string) {
	t.Helper()
	if err := nodejs.Run(t.Context(), dir, args...); err != nil {
		t.Fatal(err)
	}
}

// typescriptTools returns a directory with the node_modules that build and check the SDK.
func typescriptTools(t testing.TB) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(typescript(t), "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	return testutil.Cached(t, "sdk-typescript-tools-"+digest(lock), func(dir string) {
		for _, name := range []string{"package.json", "package-lock.json"} {
			data, err := os.ReadFile(filepath.Join(typescript(t), name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		npm(t, dir, "ci")
	})
}

// copiedTypescript returns a copy of the SDK's source with the tools: building leaves products beside the source.
func copiedTypescript(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "typescript")
	tools := typescriptTools(t)
	for _, part := range []string{"src", "tests"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(typescript(t), part))); err != nil {
			t.Fatal(err)
		}
	}
	run(t, typescript(t), "cp", "package.json", "tsconfig.json", "tsconfig.cjs.json", "generate.mjs", "README.md", dir)
	if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// packedTypescript returns the package as npm packs it. Packing compiles the SDK twice, so the result is kept for a source.
func packedTypescript(t testing.TB) string {
	t.Helper()
	source := digestOf(t, typescript(t), "package.json", "package-lock.json", "tsconfig.json", "tsconfig.cjs.json", "README.md", "src")
	dir := testutil.Cached(t, "sdk-typescript-"+source, func(dir string) { npm(t, copiedTypescript(t), "pack", "--pack-destination", dir) })
	packed, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packed) != 1 {
		t.Fatalf("npm packed %q, expected one package (%v)", packed, err)
	}
	return packed[0]
}

// installedTypescript returns a project that has the package and others alone, and the SDK's test programs. The packages that npm installs are
// kept for a package, whose path names its content, and the others.
func installedTypescript(t testing.TB, others ...string) string {
	t.Helper()
	packages := append([]string{packedTypescript(t)}, others...)
	made := testutil.Cached(t, "sdk-typescript-project-"+digest([]byte(strings.Join(packages, " "))), func(dir string) {
		npm(t, dir, "init", "--yes")
		npm(t, dir, append([]string{"install"}, packages...)...)
	})
	project := t.TempDir()
	run(t, project, "cp", "-a", made+"/.", project)
	if err := os.CopyFS(project, os.DirFS(filepath.Join(typescript(t), "tests"))); err != nil {
		t.Fatal(err)
	}
	return project
}

// consumers are programs that use the package's types as ESM and as CommonJS.
func consumers() map[string]string {
	return map[string]string{
		"consumer.mts": `import { type Event, Sandbox, type Session, tools } from "@yurt/sandbox";
export async function use(signal: AbortSignal): Promise<Session> {
  await using sandbox = await Sandbox.create({ template: "python-basic", timeout: "1h", signal });
  const shown: Event[] = [];
  for await (const event of await sandbox.streamCode("1", { language: "python", signal })) shown.push(event);
  const text: string | undefined = (await sandbox.runCode("1", { onStdout: (line) => line.length })).text;
  // @ts-expect-error a number is no command
  await sandbox.runCommand(5);
  return (await Sandbox.list({ metadata: { text: text ?? tools.openai()[0]!.function.name } }))[0]!;
}
`,
		"consumer.cts": `import yurt = require("@yurt/sandbox");
export const made: Promise<yurt.Sandbox> = yurt.Sandbox.create();
`,
	}
}

func TestTypescriptTypes(t *testing.T) {
	t.Parallel()
	project := installedTypescript(t)
	args := []string{
		node(t), filepath.Join(typescriptTools(t), "node_modules", "typescript", "bin", "tsc"),
		"--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable,dom.asynciterable,esnext.disposable", "--module", "nodenext",
	}
	for name, text := range consumers() {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	run(t, project, args...)
}

// The generated types must be those that the generator makes of today's API.
func TestTypescriptGenerated(t *testing.T) {
	t.Parallel()
	dir := copiedTypescript(t)
	// The same pipe as that of "make sdk-typescript": its writer, a program in Go, makes reads of it answer at once.
	run(t, testutil.Root(t), "sh", "-c", "go run -tags seccomp ./test/sdk/document | "+node(t)+" "+filepath.Join(dir, "generate.mjs"))
	if out, err := exec.CommandContext(t.Context(), "diff", "-u", filepath.Join(typescript(t), "src", "api.ts"), filepath.Join(dir, "src", "api.ts")).CombinedOutput(); err != nil {
		t.Errorf("sdk/typescript/src/api.ts is stale, run make sdk-typescript:\n%.4000s", out)
	}
}
