// Package oomscore tells the kernel which processes to end first when the host has no memory left, by their
// oom_score_adj: 1000 first, −1000 never.
package oomscore

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// Service is the score of the servers of a node and of the launcher, which many sandboxes depend on.
	Service = -900
	// Helper is the score of helpers that a server starts, which one request depends on.
	Helper = 0
	// Sandbox is the score of processes in sandboxes: the first to go.
	Sandbox = 1000
)

// Lower gives the calling process the score, unless its own is lower. Its children inherit it.
func Lower(score int) error {
	path := file("self")
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the score for want of memory: %w", err)
	}
	if now, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && now <= score {
		return nil
	}
	return write(path, score)
}

// MayLower reports whether the calling process has the capability that [Lower] takes, CAP_SYS_RESOURCE.
func MayLower() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// Set gives a child of the caller's the score.
func Set(pid, score int) error { return write(file(strconv.Itoa(pid)), score) }

func file(process string) string { return filepath.Join("/proc", process, "oom_score_adj") }

func write(path string, score int) error {
	if err := os.WriteFile(path, []byte(strconv.Itoa(score)), 0); err != nil {
		return fmt.Errorf("setting the score for want of memory: %w", err)
	}
	return nil
}
