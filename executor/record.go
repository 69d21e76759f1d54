package executor

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/yurtrun/yurt/executor/rundir"
)

// RunDir returns the runtime directory of the executor on the state directory, an absolute
// path. base is [Config].RunDir.
func RunDir(base, stateDir string) string {
	return filepath.Join(cmp.Or(base, rundir.Default), CgroupName(stateDir))
}

// CgroupName names the directory, in each cgroup hierarchy, of the executor on the
// state directory, an absolute path. Several executors on one machine never touch
// each other's.
func CgroupName(stateDir string) string {
	sum := sha256.Sum256([]byte(stateDir))
	return "yurt-" + hex.EncodeToString(sum[:6])
}
