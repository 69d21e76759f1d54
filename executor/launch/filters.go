package launch

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// Filters are the compiled seccomp filters of a node's sandboxes, one for each set of groups of calls
// that a sandbox has beside the base list. Each is compiled once, when a sandbox first needs it.
type Filters struct {
	launcher *Launcher

	mu    sync.Mutex
	files map[string]*os.File // sealed, by the names of the groups
}

// NewFilters returns filters that the launcher compiles.
func NewFilters(launcher *Launcher) *Filters {
	return &Filters{launcher: launcher, files: make(map[string]*os.File)}
}

// Of returns the filter with the groups. The file stays open until [Filters.Close].
func (f *Filters) Of(ctx context.Context, groups []string) (*os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	groups = slices.Compact(slices.Sorted(slices.Values(groups)))
	key := strings.Join(groups, " ")
	if file := f.files[key]; file != nil {
		return file, nil
	}
	program, err := f.launcher.Filter(ctx, groups)
	if err != nil {
		return nil, fmt.Errorf("compiling the seccomp filter: %w", err)
	}
	file, err := descriptor.Sealed("yurt-seccomp", program)
	if err != nil {
		return nil, fmt.Errorf("keeping the seccomp filter: %w", err)
	}
	f.files[key] = file
	return file, nil
}

// Close closes the files of the filters. Sandboxes have loaded theirs.
func (f *Filters) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	descriptor.CloseAll(slices.Collect(maps.Values(f.files)))
	clear(f.files)
}
