package storetest

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

func testPools(t *testing.T, store contract.Store) {
	ctx := t.Context()
	want := map[string]yurt.PoolSize{}
	for _, set := range []struct {
		template string
		size     yurt.PoolSize
	}{{"a", yurt.PoolSize{Min: 1, Max: 2}}, {"b", yurt.PoolSize{Min: 3, Max: 3}}, {"a", yurt.PoolSize{}}} {
		if err := store.SetPoolSize(ctx, set.template, set.size); err != nil {
			t.Fatal(err)
		}
		want[set.template] = set.size
		got, err := store.PoolSizes(ctx)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "sizes", got, want)
	}
	for _, template := range []string{"a", "a", "missing"} {
		if err := store.UnsetPoolSize(ctx, template); err != nil {
			t.Fatal(err)
		}
	}
	delete(want, "a")
	got, err := store.PoolSizes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "sizes that are left", got, want)
}
