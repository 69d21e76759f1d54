package rust

import (
	"context"
	_ "embed"
	"path"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Version is the version of this runtime, not of Rust.
const Version = "0.1.0"

//go:embed build.sh
var build []byte

// snippet is the file of a snippet.
const snippet = "main.rs"

// rustupHome is where an installation for all users is.
const rustupHome = "/usr/local/rustup"

// Runtime plans runs of Rust. It has no state; the zero value is ready, and safe for
// concurrent use.
type Runtime struct{}

var (
	_ plugins.Runtime     = Runtime{}
	_ plugins.Interpreter = Runtime{}
)

// Describe implements [plugins.Runtime].
func (Runtime) Describe(context.Context) (yurt.RuntimeInfo, error) {
	const install = "install Debian's rustc, or Rust for all users with RUSTUP_HOME=/usr/local/rustup and CARGO_HOME=/usr/local/cargo"
	return yurt.RuntimeInfo{
		Name:       "rust",
		Version:    Version,
		Languages:  []string{"rust", "rs"},
		Extensions: []string{".rs"},
		Abilities:  []string{string(yurt.KindCode), plugins.AbilityProject, plugins.AbilityDependencies},
		Tools: []yurt.Tool{
			{Name: "rustc", Paths: []string{"/usr/local/cargo/bin/rustc", "/usr/local/bin/rustc", "/usr/bin/rustc"}, Install: install},
			{Name: "cargo", Paths: []string{"/usr/local/cargo/bin/cargo", "/usr/local/bin/cargo", "/usr/bin/cargo"}, Install: "install Debian's cargo", Optional: true},
			{Name: "cc", Paths: []string{"/usr/bin/cc"}, Install: "install Debian's gcc and libc6-dev, with which rustc links"},
		},
	}, nil
}

// Plan implements [plugins.Runtime].
func (Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	if req.Kind != yurt.KindCode {
		return plugins.Plan{}, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "%q is not something that Rust can run; give %q", req.Kind, yurt.KindCode)
	}
	files := []plugins.File{{Path: "build.sh", Data: build, Mode: 0o644}}
	entry := req.Entry
	var inserted *plugins.Insertion
	if entry == "" {
		var code string
		code, inserted = wrap(req.Code)
		entry = path.Join(req.Dir, snippet)
		files = append(files, plugins.File{Path: snippet, Data: []byte(code), Mode: 0o644})
	}
	return plugins.Plan{
		Inserted: inserted,
		Files:    files,
		Compile: []plugins.Step{{
			Argv: []string{"/bin/sh", path.Join(req.Dir, "build.sh"), req.Tools["rustc"], req.Tools["cargo"], entry, req.Root, req.OutDir, req.CacheDir, req.Layer},
		}},
		Argv: append([]string{path.Join(req.OutDir, "main")}, req.Args...),
		Env: map[string]string{
			"CARGO_HOME":     path.Join(req.CacheDir, "cargo"),
			"RUSTUP_HOME":    rustupHome,
			"RUST_BACKTRACE": "full", // the short form needs symbols that shared libraries lack
		},
		Interpret: true,
	}, nil
}
