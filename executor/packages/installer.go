package packages

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/trees"
)

const (
	// MaxOutput bounds the kept output of a package manager, in bytes.
	MaxOutput = 1 << 20
	// failureTail is how much of the end of that becomes the message of an error.
	failureTail = 3000
)

// Installer has missing layers made: each once, for all that wait for it, and so many at once. Its methods may be called
// concurrently.
type Installer struct {
	ctx     context.Context //nolint:containedctx // it is the node's life
	store   *trees.Store
	timeout time.Duration
	serve   func(do func()) error
	carry   func(context.Context, *Installation) error
	running chan struct{} // holds one for each installation that goes on
	ended   func(took time.Duration, err error)

	mu    sync.Mutex
	going map[string]*Installation // by digest of the layer
}

// NewInstaller returns an installer. It has carry carry out an installation, which adds the
// layer to the store, and runs that by serve, until ctx is done. It tells ended of each installation.
func NewInstaller(ctx context.Context, config Config, store *trees.Store, serve func(func()) error, carry func(context.Context, *Installation) error, ended func(took time.Duration, err error)) *Installer {
	return &Installer{
		ctx: ctx, store: store, timeout: config.Timeout, serve: serve, carry: carry, ended: ended,
		running: make(chan struct{}, config.MaxInstalls), going: make(map[string]*Installation),
	}
}

// Request names the user of a layer: a sandbox, of a template in whose file system the layer is made.
type Request struct {
	User     string // as which it has the layer
	Template yurt.Template
	Layer    *Layer
	Quota    *Quota
}

// Installation is the making of a layer, for all that wait for it.
type Installation struct {
	Layer    *Layer
	Template yurt.Template

	cancel  context.CancelFunc
	waiting int // for the holder of Installer.mu

	mu   sync.Mutex
	said []byte
	more chan struct{} // closed, and replaced, when there is more or it is over
	over bool
	err  error
}

// Install returns when the layer is there, or the reason why it is not. It has the layer made, unless that goes on already, and
// passes the output on meanwhile. When all waiting callers have left, the installation is given up. The layer is kept from being
// removed for the user.
func (m *Installer) Install(ctx context.Context, r Request, tell func(string) error) error {
	in, err := m.join(r)
	if err != nil {
		return err
	}
	defer m.leave(in, r.Quota)
	for seen := 0; ; {
		in.mu.Lock()
		text, more, over, err := string(in.said[seen:]), in.more, in.over, in.err
		in.mu.Unlock()
		seen += len(text)
		if err := tell(text); err != nil {
			return err
		}
		if over {
			r.Quota.note(err, time.Now())
			if err != nil {
				return err
			}
			return m.take(r)
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take has the user use the layer while the installation still does.
func (m *Installer) take(r Request) error {
	there, err := m.store.Use(r.Layer.Digest, r.User)
	if err == nil && !there {
		err = Removed()
	}
	return err
}

// Removed says that a layer was made, and is not there any more.
func Removed() error {
	return yurt.Errorf(yurt.CodeUnavailable, "the packages were removed to make room for others; try again")
}

// join returns the installation of the layer that goes on, or begins one.
func (m *Installer) join(r Request) (*Installation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ctx.Err(); err != nil {
		return nil, yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down")
	}
	if err := r.Quota.begin(time.Now()); err != nil {
		return nil, err
	}
	if in := m.going[r.Layer.Digest]; in != nil {
		in.waiting++
		return in, nil
	}
	ctx, cancel := context.WithTimeout(m.ctx, m.timeout)
	in := &Installation{Layer: r.Layer, Template: r.Template, cancel: cancel, waiting: 1, more: make(chan struct{})}
	err := m.serve(func() {
		defer cancel()
		begun := time.Now()
		err := m.carryOut(ctx, in)
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = fmt.Errorf("the installation took longer than %s and was ended:\n%s", m.timeout, in.Tail())
		}
		m.ended(time.Since(begun), err)
		m.finish(in, err)
	})
	if err != nil {
		cancel()
		r.Quota.end()
		return nil, err
	}
	m.going[r.Layer.Digest] = in
	return in, nil
}

// leave ends the wait of one caller. An installation without waiting callers is given up, and the next request for it begins again.
func (m *Installer) leave(in *Installation, quota *Quota) {
	m.mu.Lock()
	defer m.mu.Unlock()
	quota.end()
	if in.waiting--; in.waiting > 0 {
		return
	}
	in.cancel()
	if m.going[in.Layer.Digest] == in {
		delete(m.going, in.Layer.Digest)
	}
	m.store.Release(in.user())
}

// user is the installation's name as a user of its layer.
func (in *Installation) user() string { return fmt.Sprintf("installation %p", in) }

// carryOut makes the layer when fewer than the most are being made, unless it exists by then.
func (m *Installer) carryOut(ctx context.Context, in *Installation) error {
	select {
	case m.running <- struct{}{}:
	default:
		in.Say("waiting for other installations on this node\n")
		select {
		case m.running <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() { <-m.running }()
	if there, err := m.store.Use(in.Layer.Digest, in.user()); err != nil || there {
		return err // it was made between the look and this
	}
	return m.carry(ctx, in)
}

// finish tells the waiting callers how it ended.
func (m *Installer) finish(in *Installation, err error) {
	m.mu.Lock()
	if err == nil && in.waiting > 0 {
		_, err = m.store.Use(in.Layer.Digest, in.user())
	}
	if m.going[in.Layer.Digest] == in {
		delete(m.going, in.Layer.Digest)
	}
	m.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.over, in.err = true, err
	close(in.more)
}

// Say passes the output of the package manager on.
func (in *Installation) Say(text string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.said)+len(text) > MaxOutput {
		return
	}
	in.said = append(in.said, text...)
	close(in.more)
	in.more = make(chan struct{})
}

// Tail is the end of the output.
func (in *Installation) Tail() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	said := in.said
	if len(said) > failureTail {
		said = said[len(said)-failureTail:]
		for len(said) > 0 && !utf8.RuneStart(said[0]) {
			said = said[1:]
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(said), "�"))
}

const (
	// maxSandboxInstalls is how many installations one sandbox may wait for at once.
	maxSandboxInstalls = 4
	// freeFailures is how many installations in a row may fail in a sandbox before the next
	// one has to wait.
	freeFailures = 5
	// Then it waits, from least to most, twice as long after each.
	installPauseLeast = 5 * time.Second
	installPauseMost  = 5 * time.Minute
)

// Quota keeps one sandbox from having the installations of a node to itself, by many at once or by ever more that fail. The zero
// value allows as many as a sandbox may begin with. Its methods may be called concurrently.
type Quota struct {
	mu            sync.Mutex
	going, failed int
	until         time.Time // no installation begins before
}

// begin refuses an installation beyond the quota. Otherwise the caller calls end in the end.
func (q *Quota) begin(now time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.going >= maxSandboxInstalls {
		return refusal(installPauseLeast, "the session waits for %d installations of packages, as many as it may; wait for some to end", q.going)
	}
	if left := q.until.Sub(now); left > 0 {
		return refusal(left, "%d installations of packages failed one after the other in this session; the next may begin in %s", q.failed, yurt.Duration(left.Round(time.Second)))
	}
	q.going++
	return nil
}

func (q *Quota) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.going--
}

// note takes down how an installation ended that was not given up.
func (q *Quota) note(err error, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		q.failed = 0
		return
	}
	if q.failed++; q.failed >= freeFailures {
		pause := installPauseLeast << min(q.failed-freeFailures, 10)
		q.until = now.Add(min(pause, installPauseMost))
	}
}

func refusal(retry time.Duration, format string, args ...any) error {
	err := yurt.Errorf(yurt.CodeOverloaded, format, args...)
	err.RetryAfter = retry
	return err
}
