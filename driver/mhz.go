package driver

import (
	"os"
	"strconv"
	"strings"
)

// usualMHz stands for the speed of a processor whose kernel does not say.
const usualMHz = 2000

// coreMHz is the speed of a processor, in which Nomad counts their use.
func coreMHz() float64 {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return usualMHz
	}
	for line := range strings.Lines(string(info)) {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) != "cpu MHz" {
			continue
		}
		if mhz, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && mhz > 0 {
			return mhz
		}
	}
	return usualMHz
}
