// Package protocol holds the parts of the plugin protocol that the host and a runtime must agree on: the handshake,
// the versions, the bounds of messages, and the form of errors.
package protocol

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin"

	"github.com/yurtrun/yurt"
)

// Service is the name of the one service of a runtime's process.
const Service = "runtime"

// LogLevelEnv tells a runtime which log lines its host keeps.
const LogLevelEnv = "YURT_RUNTIME_LOG_LEVEL"

// MaxPlanBytes bounds all files of a plan together.
const MaxPlanBytes = 32 << 20

// Bounds of a message, in bytes. The largest request holds the largest code, event and context and most
// files; the largest answer holds the largest plan.
const (
	MaxRequestBytes  = yurt.MaxCodeBytes + 2*yurt.MaxEventBytes + yurt.MaxFilesBytes + 4<<20
	MaxResponseBytes = MaxPlanBytes + 4<<20
)

// Bounds of parts of a message, in bytes.
const (
	MaxNameBytes  = 64
	MaxErrorBytes = 64 << 10
)

// Handshake tells our runtimes from other programs, and from the plugins of other
// products. It is no secret. The protocol version is negotiated through [Versions],
// so the one here stays zero.
func Handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		MagicCookieKey:   "YURT_RUNTIME_PLUGIN",
		MagicCookieValue: "9c7f1c2ad8c94d0c8f5d6b7f6a1e0b43",
	}
}

// Versions lists every protocol version that this build speaks, with the caller's side of each. Host and runtime
// offer theirs, and the highest common version is taken. Version 2 will be a second row, for as long as both
// versions are spoken.
func Versions(first plugin.Plugin) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{
		1: {Service: first},
	}
}

// Spoken lists the versions for a message, such as "1" or "1 and 2".
func Spoken() string { return List(" and ") }

// List lists the versions with the separator between them.
func List(separator string) string {
	var list []string
	for _, version := range slices.Sorted(maps.Keys(Versions(nil))) {
		list = append(list, strconv.Itoa(version))
	}
	return strings.Join(list, separator)
}
