package host

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/binary"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
	"github.com/yurtrun/yurt/plugins/internal/text"
)

// Bounds of a description.
const (
	maxNames        = 64
	maxInstallBytes = 500
)

// validateInfo checks a runtime's description of itself.
func validateInfo(info yurt.RuntimeInfo) error {
	if !binary.ValidName(info.Name) {
		return fmt.Errorf("name %s is not made of lower-case letters, digits and -+.#_", text.Quote(info.Name))
	}
	if len(info.Version) > protocol.MaxNameBytes || !text.Printable(info.Version) {
		return fmt.Errorf("version %s is too long or contains control characters", text.Quote(info.Version))
	}
	if len(info.Languages) == 0 {
		return errors.New("it names no language")
	}
	for _, list := range [][]string{info.Languages, info.Extensions, info.Abilities, info.Kernels} {
		if len(list) > maxNames {
			return fmt.Errorf("a list has %d entries; at most %d are allowed", len(list), maxNames)
		}
		for _, name := range list {
			if !binary.ValidName(name) {
				return fmt.Errorf("%s is not made of lower-case letters, digits and -+.#_", text.Quote(name))
			}
		}
	}
	for _, list := range [][]string{info.HostPaths, info.Path} {
		if len(list) > maxNames {
			return fmt.Errorf("a list has %d paths; at most %d are allowed", len(list), maxNames)
		}
		for _, at := range list {
			if !cleanAbsolute(at) || at == "/" || strings.Contains(at, ":") {
				return fmt.Errorf("%s is not a clean absolute path below / without a colon", text.Quote(at))
			}
		}
	}
	return validateTools(info.Tools)
}

func cleanAbsolute(at string) bool {
	return len(at) <= yurt.MaxPathBytes && path.IsAbs(at) && path.Clean(at) == at && text.Printable(at)
}

func validateTools(tools []yurt.Tool) error {
	if len(tools) > maxNames {
		return fmt.Errorf("it names %d tools; at most %d are allowed", len(tools), maxNames)
	}
	for _, tool := range tools {
		switch {
		case !binary.ValidName(tool.Name):
			return fmt.Errorf("tool %s is not made of lower-case letters, digits and -+.#_", text.Quote(tool.Name))
		case len(tool.Paths) == 0 || len(tool.Paths) > maxNames:
			return fmt.Errorf("tool %s has %d paths; 1 to %d are allowed", tool.Name, len(tool.Paths), maxNames)
		case len(tool.Install) > maxInstallBytes || !text.Printable(tool.Install):
			return fmt.Errorf("how to install tool %s is longer than %d bytes or contains control characters", tool.Name, maxInstallBytes)
		}
		for _, at := range tool.Paths {
			if !cleanAbsolute(at) {
				return fmt.Errorf("tool %s: %s is not a clean absolute path", tool.Name, text.Quote(at))
			}
		}
	}
	return nil
}
