// Package older reads the variables of the older runtime, which a server takes in place of settings of its own.
package older

import (
	"strconv"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/se"
)

// Settings are the variables of the older runtime that a server reads, for sessions of its API and the
// warm pool of the default template.
type Settings struct {
	Defaults se.Defaults
	poolSize int // 0 where it is not set
}

const maxPool = 1000

// Read reads the variables from an environment, which returns a default for a variable that is not set.
func Read(env func(name, otherwise string) string) (*Settings, error) {
	s := &Settings{}
	for _, setting := range []struct {
		name string
		read func(name, value string) error
	}{
		{"SANDBOX_CPU_QUOTA", s.readCPU},
		{"SANDBOX_MEMORY_LIMIT", s.readMemory},
		{"SANDBOX_TIMEOUT_SECONDS", s.readTimeout},
		{"SANDBOX_POOL_SIZE", s.readPool},
		{"SANDBOX_ALLOW_NETWORK", refuseNetwork},
	} {
		if value := env(setting.name, ""); value != "" {
			if err := setting.read(setting.name, value); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// Warm sets the warm pool of the default template.
func (s *Settings) Warm(templates []yurt.Template) {
	for i := range templates {
		if pool := &templates[i].WarmPool; templates[i].Name == yurt.DefaultTemplate && s.poolSize > 0 {
			pool.Min, pool.Max = s.poolSize, max(pool.Max, s.poolSize)
		}
	}
}

func (s *Settings) readCPU(name, value string) error {
	cores, err := strconv.ParseFloat(value, 64)
	if err != nil || !(cores >= yurt.MinCPU && cores <= yurt.MaxCPU) { // also false for NaN
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, name, "%.40q is not a number of cores; give %v to %v", value, yurt.MinCPU, yurt.MaxCPU)
	}
	s.Defaults.CPU = cores
	return nil
}

func (s *Settings) readMemory(name, value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, name, "%.40q is not a number of KB; give one such as 131072", value)
	}
	s.Defaults.Memory, err = se.Kilobytes(name, n)
	return err
}

func (s *Settings) readTimeout(name, value string) error {
	seconds, err := strconv.ParseFloat(value, 64)
	most := yurt.MaxExecutionTimeout.Seconds()
	if err != nil || !(seconds > 0 && seconds <= most) {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, name, "%.40q is not a number of seconds; give more than 0 and at most %v", value, most)
	}
	s.Defaults.Timeout, err = yurt.ParseDuration(value)
	return err
}

func (s *Settings) readPool(name, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxPool {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, name, "%.40q is not a number of sandboxes; give 0 to %d", value, maxPool)
	}
	s.poolSize = n
	return nil
}

// refuseNetwork fails closed: a server that started without the network that was asked for would be found
// out by the code that fails in it.
func refuseNetwork(name, value string) error {
	allowed, err := strconv.ParseBool(value)
	if err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, name, "%.40q is neither true nor false", value)
	}
	if allowed {
		return yurt.FieldErrorf(yurt.CodeNotSupported, name, "sandboxes have no network yet, so it cannot be true; leave the variable out, or give false")
	}
	return nil
}
