package sandbox

import (
	"context"
	"time"

	"github.com/yurtrun/yurt/executor/cgroup"
)

const (
	// InitTimeout bounds how long yurt-init may take to answer.
	InitTimeout = 10 * time.Second
	// DestroyTimeout bounds how long it may take to end a sandbox's processes.
	DestroyTimeout = 10 * time.Second
)

// DestroyGroup ends everything in the cgroup of a sandbox.
func DestroyGroup(group cgroup.Group) error {
	ctx, cancel := context.WithTimeout(context.Background(), DestroyTimeout)
	defer cancel()
	return group.Destroy(ctx)
}
