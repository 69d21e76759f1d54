package idrange

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/oci"
)

// TestIDRangesProperty: no two sandboxes share an ID, and no sandbox has an ID of the host's.
func TestIDRangesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranges := New()
		used := map[uint32]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				base, err := ranges.Take()
				if err != nil {
					t.Fatal(err)
				}
				if used[base] {
					t.Fatalf("%d was handed out twice", base)
				}
				if base < First || (base-First)%oci.IDRange != 0 || uint64(base)+oci.IDRange > 1<<31 {
					t.Fatalf("%d is not the beginning of a range", base)
				}
				used[base] = true
			},
			"keep": func(t *rapid.T) { // of a sandbox that was taken over
				base := uint32(First + rapid.IntRange(0, count-1).Draw(t, "range")*oci.IDRange)
				ranges.Keep(base)
				used[base] = true
			},
			"free": func(*rapid.T) {
				for base := range used {
					ranges.Free(base)
					delete(used, base)
					break
				}
			},
		})
	})
}

func TestIDRangesComeToAnEnd(t *testing.T) {
	ranges := New()
	var group sync.WaitGroup
	seen := make(chan uint32, count)
	for range 4 {
		group.Go(func() {
			for range count / 4 {
				base, err := ranges.Take()
				if err != nil {
					t.Error(err)
					return
				}
				seen <- base
			}
		})
	}
	group.Wait()
	close(seen)
	distinct := map[uint32]bool{}
	var last uint32
	for base := range seen {
		distinct[base] = true
		last = base
	}
	if len(distinct) != count {
		t.Errorf("%d ranges are distinct of %d", len(distinct), count)
	}
	if _, err := ranges.Take(); yurt.CodeOf(err) != yurt.CodeOverloaded {
		t.Errorf("one too many: %v", err)
	}
	ranges.Free(last)
	if base, err := ranges.Take(); err != nil || base != last {
		t.Errorf("the one that is free is %d, got %d, %v", last, base, err)
	}
}
