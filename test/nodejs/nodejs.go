// Package nodejs gives tests and benchmarks a Node and an npm that are new enough: the machine's own, or ones that they
// fetch once.
package nodejs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt/test/cache"
)

const (
	nodeVersion = "20.20.0" // of npm's package "node"
	nodeMajor   = 20        // the oldest that the TypeScript SDK runs on
	npmVersion  = "10.9.2"  // Debian's Node comes without npm
)

// Node returns the path of a Node of version 20 or newer.
func Node(ctx context.Context) (string, error) {
	found, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("this machine has no Node, which runs npm: %w", err)
	}
	version, err := exec.CommandContext(ctx, found, "-p", "process.versions.node").Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", found, err)
	}
	major, _, _ := strings.Cut(string(version), ".")
	if number, err := strconv.Atoi(major); err == nil && number >= nodeMajor {
		return found, nil
	}
	dir, err := cache.Dir("node-"+nodeVersion, func(dir string) error {
		return run(ctx, dir, found, "install", "--prefix", dir, "node@"+nodeVersion)
	})
	return filepath.Join(dir, "node_modules", "node", "bin", "node"), err
}

// Run runs npm in a directory, with the Node that [Node] returns.
func Run(ctx context.Context, dir string, args ...string) error {
	node, err := Node(ctx)
	if err != nil {
		return err
	}
	return run(ctx, dir, node, args...)
}

// run runs npm with a Node, which the scripts of packages find on PATH.
func run(ctx context.Context, dir, node string, args ...string) error {
	npm, err := Npm()
	if err != nil {
		return err
	}
	script := filepath.Join(npm, "bin", "npm-cli.js")
	cmd := exec.CommandContext(ctx, node, append([]string{script, "--loglevel=error", "--no-audit", "--no-fund"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(node)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Npm returns the directory of npm itself.
func Npm() (string, error) {
	if found, err := exec.LookPath("npm"); err == nil {
		if cli, err := filepath.EvalSymlinks(found); err == nil && path.Base(cli) == "npm-cli.js" {
			return filepath.Dir(filepath.Dir(cli)), nil
		}
	}
	return cache.Dir("npm-"+npmVersion, func(dir string) error {
		registry := strings.TrimSuffix(os.Getenv("npm_config_registry"), "/")
		if registry == "" {
			registry = "https://registry.npmjs.org"
		}
		return fetch(registry+"/npm/-/npm-"+npmVersion+".tgz", dir)
	})
}
