package cgroup

import (
	"context"

	"github.com/yurtrun/yurt/internal/linux/pidfd"
)

// awaitEnds returns when the processes in the directory have ended, or ctx has. It reports whether there were any. A process that cannot
// be watched is passed over.
func awaitEnds(ctx context.Context, dir string) (watched bool) {
	inside, err := pids(dir)
	if err != nil {
		return false
	}
	for _, pid := range inside {
		process, err := pidfd.Open(pid)
		if err != nil {
			continue
		}
		watched = true
		unhook := context.AfterFunc(ctx, func() { process.Close() })
		err = process.Wait()
		unhook()
		process.Close()
		if err != nil { // ctx has ended
			return true
		}
	}
	return watched
}
