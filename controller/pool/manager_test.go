package pool_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/pool"
)

// slots is a supply whose slots open in a tenth of a second.
type slots struct {
	changed chan struct{}

	mu     sync.Mutex
	stock  map[string]pool.Stock
	opens  int // under way
	most   int // that were at once
	opened int
	fail   error
}

func newSlots() *slots {
	return &slots{changed: make(chan struct{}, 1), stock: map[string]pool.Stock{}}
}

func (s *slots) Stock(context.Context) (map[string]pool.Stock, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.stock), nil
}

func (s *slots) Open(ctx context.Context, template yurt.Template) error {
	s.mu.Lock()
	s.opens++
	s.most = max(s.most, s.opens)
	s.mu.Unlock()
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opens--
	if s.fail != nil {
		return s.fail
	}
	s.opened++
	one := s.stock[template.Digest()]
	one.Ready++
	s.stock[template.Digest()] = one
	return ctx.Err()
}

func (s *slots) Close(_ context.Context, digest string, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.stock[digest]
	one.Ready -= min(n, one.Ready)
	s.stock[digest] = one
	return nil
}

func (s *slots) Changed() <-chan struct{} { return s.changed }

func (s *slots) claim(digest string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.stock[digest]
	for range n {
		if one.Ready == 0 {
			one.Misses, one.Owed = one.Misses+1, one.Owed+1
			continue
		}
		one.Ready, one.Busy, one.Hits = one.Ready-1, one.Busy+1, one.Hits+1
	}
	s.stock[digest] = one
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *slots) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, one := range s.stock {
		n += one.Ready + one.Busy
	}
	return n
}

// TestManager follows two managers of one supply: the second looks on, and goes on when the
// first does not lead any more, without opening anything that is there.
func TestManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		supply, one := newSlots(), template("a", 5, 50)
		list := func(context.Context) ([]yurt.Template, error) { return []yurt.Template{one}, nil }
		var leader atomic.Int32
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		managers := make([]*pool.Manager, 2)
		for i := range managers {
			managers[i] = pool.New(pool.Config{
				Supply: supply, Opens: 4, Pause: 50 * time.Millisecond,
				Leads: func() bool { return leader.Load() == int32(i) },
			})
			running.Go(func() { managers[i].Run(ctx, list) })
		}
		want := func(when string, n int) {
			t.Helper()
			if got := supply.total(); got != n {
				t.Errorf("%s there are %d slots, want %d", when, got, n)
			}
		}
		time.Sleep(2 * time.Second)
		want("at first", 5)
		supply.claim(one.Digest(), 25)
		time.Sleep(3 * time.Second)
		want("after a burst", 25)
		if supply.most > 4 {
			t.Errorf("%d were opened at once", supply.most)
		}
		opened := supply.opened
		leader.Store(1)
		time.Sleep(20 * time.Second)
		want("when another leads", 25)
		if supply.opened != opened {
			t.Errorf("it opened %d more", supply.opened-opened)
		}
		for _, m := range managers {
			pools, err := m.Pools(t.Context(), []yurt.Template{one})
			if err != nil || len(pools) != 1 || pools[0].Hits != 5 || pools[0].Misses != 20 || pools[0].Claimed != 5 || pools[0].Ready != 20 {
				t.Errorf("it says %+v, %v", pools, err)
			}
		}
		time.Sleep(90 * time.Second)
		want("when nobody came for long", 10) // five are claimed still
		supply.mu.Lock()
		supply.fail = errors.New("no room")
		supply.mu.Unlock()
		supply.claim(one.Digest(), 1)
		time.Sleep(5 * time.Second)
		pools, err := managers[1].Pools(t.Context(), []yurt.Template{one})
		if err != nil || pools[0].Failure != "no room" || pools[0].Target < 5 {
			t.Errorf("without room it says %+v, %v", pools, err)
		}
		stop()
		running.Wait()
	})
}

// TestManagerHolds: no slot is opened while Hold says so, and all missing ones after.
func TestManagerHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots()
		var hold atomic.Bool
		hold.Store(true)
		one := template("one", 3, 3)
		m := pool.New(pool.Config{Supply: s, Opens: 2, Hold: hold.Load})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			m.Run(ctx, func(context.Context) ([]yurt.Template, error) { return []yurt.Template{one}, nil })
		})
		defer running.Wait()
		defer cancel()
		time.Sleep(5 * time.Second)
		if n := s.total(); n != 0 {
			t.Errorf("%d were opened", n)
		}
		hold.Store(false)
		time.Sleep(5 * time.Second)
		if n := s.total(); n != 3 {
			t.Errorf("afterwards %d were opened", n)
		}
	})
}
