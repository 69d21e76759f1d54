package sandbox

import (
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/oci"
)

// Resize gives a file system in memory of the sandbox other bounds.
func (s *Sandbox) Resize(path string, to oci.Sizes) error {
	return s.Broker.Resize(s.Named(), broker.Place(path), to)
}
