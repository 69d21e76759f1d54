package idrange

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
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
				if base < First || (base-First)%Size != 0 || base+Size > Programs {
					t.Fatalf("%d is not the beginning of a range", base)
				}
				used[base] = true
			},
			"keep": func(t *rapid.T) { // of a sandbox that was taken over
				base := uint32(First + rapid.IntRange(0, ranges.count-1).Draw(t, "range")*Size)
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
	t.Run("sandboxes", func(t *testing.T) { comeToAnEnd(t, New()) })
	t.Run("programs", func(t *testing.T) { comeToAnEnd(t, NewPrograms()) })
}

func comeToAnEnd(t *testing.T, ranges *Ranges) {
	t.Helper()
	var group sync.WaitGroup
	const together = 5
	seen := make(chan uint32, ranges.count)
	for i := range together {
		group.Go(func() {
			for range ranges.count*(i+1)/together - ranges.count*i/together {
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
	if len(distinct) != ranges.count {
		t.Errorf("%d ranges are distinct of %d", len(distinct), ranges.count)
	}
	if _, err := ranges.Take(); yurt.CodeOf(err) != yurt.CodeOverloaded {
		t.Errorf("one too many: %v", err)
	}
	ranges.Free(last)
	if base, err := ranges.Take(); err != nil || base != last {
		t.Errorf("the one that is free is %d, got %d, %v", last, base, err)
	}
}

// TestExecutorIsApart: its id is neither in a range of a sandbox nor a program's.
func TestExecutorIsApart(t *testing.T) {
	if Executor != 2147483647 || IsSandbox(Executor-Executor%Size) {
		t.Errorf("it is %d", Executor)
	}
	if IsProgram(Executor) {
		t.Error("it is one of a program")
	}
	if programs := NewPrograms(); programs.first+programs.count > Executor {
		t.Errorf("the ids of programs go from %d on, %d of them, and reach it", programs.first, programs.count)
	}
}
