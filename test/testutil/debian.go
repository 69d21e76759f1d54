package testutil

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Debian's archive, with the updates for security, from which the file systems of images are made.
const debianSources = `deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian-security bookworm-security main
`

// Debian returns a layer of an image: a small Debian with the packages, as a compressed tar archive. It is made once for
// all tests of the machine, under the name. The commands run in its root file system when the packages are installed.
func Debian(t testing.TB, name string, packages []string, commands ...string) []byte {
	t.Helper()
	dir := Cached(t, "debian-"+name, func(dir string) {
		args := []string{
			"--mode=root", "--variant=essential", "--include=" + strings.Join(packages, ","),
			"--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
		}
		for _, command := range commands {
			args = append(args, `--customize-hook=chroot "$1" sh -c "`+command+`"`)
		}
		cmd := exec.CommandContext(t.Context(), "mmdebstrap", append(args, "bookworm", filepath.Join(dir, "root.tar"), "-")...)
		var said bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(debianSources), &said, &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("making a Debian with %s: %v\n%s", packages, err, said.Bytes())
		}
		inDir(t, dir, "gzip", "-1", "root.tar")
	})
	return readLayer(t, filepath.Join(dir, "root.tar.gz"))
}

// DotnetLayer returns a layer of an image: a .NET SDK, where Microsoft's images have it.
func DotnetLayer(t testing.TB) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "layer.tar.gz")
	inDir(t, Dotnet(t), "sh", "-c", `tar --owner=0 --group=0 --transform 's,^dotnet,usr/share/dotnet,;s,^lib/,usr/lib/x86_64-linux-gnu/,' -c dotnet lib/* | gzip -1 >"$1"`, "sh", file)
	return readLayer(t, file)
}

func readLayer(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
