package vm

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// kernelPackage depends on the distribution's current kernel. Its cloud variant,
// which is smaller, lacks 9p.
const kernelPackage = "linux-image-amd64"

// modules are the modules of the kernel's package that the machine needs, in the order of loading.
// A kernel's built-in drivers are not in its package.
func modules() []string {
	return []string{
		"virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
		"netfs", "fscache", "9pnet", "9pnet_virtio", "9p",
		// Disk images, and project quotas in one.
		"crc16", "crc32c_generic", "mbcache", "jbd2", "ext4", "loop", "quota_tree", "quota_v2",
		"libcrc32c", "xfs",
		"overlay", // of the root of each sandbox
	}
}

// kernel is an unpacked kernel.
type kernel struct{ dir string }

func (k kernel) image() string { return filepath.Join(k.dir, "vmlinuz") }

func (k kernel) module(name string) string { return filepath.Join(k.dir, name+".ko") }

// getKernel returns the kernel in the cache, after having put it there if need be.
func getKernel(t *testing.T) kernel {
	t.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatalf("finding the cache directory: %v", err)
	}
	cache := filepath.Join(base, "yurt-vm")
	// One that was unpacked for fewer modules is not the one.
	wanted := crc32.ChecksumIEEE([]byte(strings.Join(modules(), "\n")))
	k := kernel{filepath.Join(cache, fmt.Sprintf("kernel-%08x", wanted))}
	if _, err := os.Stat(k.image()); err == nil {
		return k
	}
	if err := fetchKernel(t.Context(), cache, k.dir); err != nil {
		t.Fatalf("this test starts a virtual machine with Debian's kernel, and could not get its package %s by apt-get download: %v", kernelPackage, err)
	}
	return k
}

// fetchKernel downloads and unpacks the kernel. The result appears whole or not at all, also if
// other processes do the same meanwhile.
func fetchKernel(ctx context.Context, cache, target string) (err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	deb, err := download(ctx, work)
	if err != nil {
		return err
	}
	unpacked := filepath.Join(work, "kernel")
	if err := os.Mkdir(unpacked, 0o755); err != nil {
		return err
	}
	if err := unpack(ctx, deb, unpacked); err != nil {
		return fmt.Errorf("unpacking %s: %w", filepath.Base(deb), err)
	}
	if err := os.Rename(unpacked, target); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// download returns the path of the kernel's package. Where the machine's package
// lists are missing or out of date, it gets its own.
func download(ctx context.Context, dir string) (string, error) {
	deb, err := downloadBy(ctx, dir)
	if err == nil {
		return deb, nil
	}
	lists, cache := filepath.Join(dir, "lists"), filepath.Join(dir, "cache")
	for _, made := range []string{lists, cache} {
		if mkdirErr := os.MkdirAll(filepath.Join(made, "partial"), 0o755); mkdirErr != nil {
			return "", errors.Join(err, mkdirErr)
		}
	}
	own := []string{"-o", "APT::Update::Error-Mode=any", "-o", "Dir::State::Lists=" + lists, "-o", "Dir::Cache=" + cache, "-o", "APT::Sandbox::User=root"}
	if _, updateErr := output(ctx, dir, "apt-get", append(own, "update", "-qq")...); updateErr != nil {
		return "", errors.Join(err, updateErr)
	}
	return downloadBy(ctx, dir, own...)
}

func downloadBy(ctx context.Context, dir string, options ...string) (string, error) {
	about, err := output(ctx, dir, "apt-cache", append(options, "show", "--no-all-versions", kernelPackage)...)
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`(?m)^Depends: (linux-image-\S+)`).FindStringSubmatch(about)
	if found == nil {
		return "", fmt.Errorf("the package lists name no kernel that %s stands for", kernelPackage)
	}
	if _, err := output(ctx, dir, "apt-get", append(options, "download", "-q", found[1])...); err != nil {
		return "", err
	}
	debs, err := filepath.Glob(filepath.Join(dir, found[1]+"_*.deb"))
	if err != nil || len(debs) != 1 {
		return "", fmt.Errorf("the download of %s left %d packages: %w", found[1], len(debs), err)
	}
	return debs[0], nil
}

// unpack takes the files that the machine needs out of the package.
func unpack(ctx context.Context, deb, dir string) error {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", deb)
	cmd.Stderr = os.Stderr
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = unpackTar(tar.NewReader(stream), dir)
	_, drained := io.Copy(io.Discard, stream)
	return errors.Join(err, drained, cmd.Wait())
}

func unpackTar(archive *tar.Reader, dir string) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Base(header.Name)
		switch module, ok := strings.CutSuffix(name, ".ko"); {
		case ok && slices.Contains(modules(), module):
		case strings.HasPrefix(name, "vmlinuz-"):
			name = "vmlinuz"
		default:
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
}

// output runs a command in dir and returns its output.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, stderr.String())
	}
	return string(out), nil
}
