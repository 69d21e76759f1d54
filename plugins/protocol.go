package plugins

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin"

	"github.com/yurtrun/yurt"
)

// BinaryPrefix starts the file name of every runtime's binary; what follows it
// is the runtime's name.
const BinaryPrefix = "yurt-runtime-"

// pluginName is the one thing that a runtime's process serves.
const pluginName = "runtime"

// logLevelEnv tells a runtime which log lines its host wants to see.
const logLevelEnv = "YURT_RUNTIME_LOG_LEVEL"

// Bounds of a message, in bytes. The largest request is made of the largest code,
// event and context and most files, the largest answer of the largest plan.
const (
	maxRequestBytes  = yurt.MaxCodeBytes + 2*yurt.MaxEventBytes + yurt.MaxFilesBytes + 4<<20
	maxResponseBytes = MaxPlanBytes + 4<<20
)

// handshake tells our runtimes from other programs, and from the plugins of other
// products. It is no secret. The protocol version is negotiated through versions,
// so the one here stays zero.
func handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		MagicCookieKey:   "YURT_RUNTIME_PLUGIN",
		MagicCookieValue: "9c7f1c2ad8c94d0c8f5d6b7f6a1e0b43",
	}
}

// versions lists every protocol version that this build speaks. Host and runtime
// each offer theirs and the highest common one is taken. Version 2 will be a row
// 2: {pluginName: &grpcRuntimeV2{…}}, beside version 1 for as long as both are spoken.
func versions(rt Runtime) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{
		1: {pluginName: &grpcRuntimeV1{runtime: rt}},
	}
}

// spokenVersions lists the versions for a reader, such as "1" or "1 and 2".
func spokenVersions() string {
	var list []string
	for _, v := range slices.Sorted(maps.Keys(versions(nil))) {
		list = append(list, strconv.Itoa(v))
	}
	return strings.Join(list, " and ")
}
