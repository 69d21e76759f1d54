package memlimit_test

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/yurtrun/yurt/internal/memlimit"
)

func TestOf(t *testing.T) {
	files := fstest.MapFS{
		"memory.max":                              {Data: []byte("max\n")},
		"a/memory.max":                            {Data: []byte("157286400\n")},
		"a/b/memory.max":                          {Data: []byte("max\n")},
		"memory/memory.limit_in_bytes":            {Data: []byte("9223372036854771712\n")},
		"memory/c/memory.limit_in_bytes":          {Data: []byte("1073741824\n")},
		"memory/c/d/memory.limit_in_bytes":        {Data: []byte("2147483648\n")},
		"memory/garbage/memory.limit_in_bytes":    {Data: []byte("-1\n")},
		"memory/container/memory.limit_in_bytes":  {Data: []byte("no number\n")},
		"memory/container2/memory.limit_in_bytes": {Data: []byte("")},
	}
	for _, test := range []struct {
		name, table string
		want        int64
	}{
		{"the parent of a v2 group", "0::/a/b\n", 150 << 20},
		{"a v1 group", "4:memory:/c\n0::/\n", 1 << 30},
		{"the lower one of a v1 parent", "4:memory:/c/d\n", 1 << 30},
		{"another controller's group", "4:cpu:/c\n", math.MaxInt64},
		{"no limit", "4:memory:/\n0::/a/../\n", math.MaxInt64},
		{"a group that is not there", "4:memory:/none\n", math.MaxInt64},
		{"values that are no limits", "4:memory:/garbage\n5:memory:/container\n6:memory:/container2\n", math.MaxInt64},
		{"no table", "nonsense", math.MaxInt64},
	} {
		if got := memlimit.Of(files, test.table); got != test.want {
			t.Errorf("%s: the limit is %d, want %d", test.name, got, test.want)
		}
	}
}

func TestGoal(t *testing.T) {
	for limit, want := range map[int64]int64{150 << 20: 75 << 20, 2 << 30: 1 << 30, 8 << 30: 7 << 30} {
		if got := memlimit.Goal(limit); got != want {
			t.Errorf("of a limit of %d the goal is %d, want %d", limit, got, want)
		}
	}
}
