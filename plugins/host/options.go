package host

import "time"

// Defaults of a [Host].
const (
	DefaultStartTimeout = 10 * time.Second
	DefaultCallTimeout  = 5 * time.Second
	// DefaultRestartBurst and DefaultRestartEvery allow a runtime five starts at
	// once and one more every ten seconds.
	DefaultRestartBurst = 5
	DefaultRestartEvery = 10 * time.Second
)

// An Option changes how a [Host] treats its runtimes.
type Option func(*options)

type options struct {
	startTimeout time.Duration
	callTimeout  time.Duration
	burst        int
	every        time.Duration
	tempDir      string
	checksums    map[string]string // by name; nil: not checked
	descriptions bool              // see WithDescriptions
	confinement  Confinement       // nil in a process without power
	now          func() time.Time
}

func defaultOptions() options {
	return options{
		startTimeout: DefaultStartTimeout,
		callTimeout:  DefaultCallTimeout,
		burst:        DefaultRestartBurst,
		every:        DefaultRestartEvery,
		now:          time.Now,
	}
}

// WithStartTimeout sets how long a runtime may take from its start until it has
// described itself. After that it is killed.
func WithStartTimeout(d time.Duration) Option { return func(o *options) { o.startTimeout = d } }

// WithCallTimeout sets how long a runtime may take for one plan. After that its process is killed, with all its other calls.
func WithCallTimeout(d time.Duration) Option { return func(o *options) { o.callTimeout = d } }

// WithRestartLimit allows each runtime burst starts at once and one more after
// every span.
func WithRestartLimit(burst int, every time.Duration) Option {
	return func(o *options) { o.burst, o.every = burst, every }
}

// WithTempDir sets where the sockets of runtimes are made; the default is
// [os.TempDir]. A socket's name lasts only until the host is connected.
func WithTempDir(dir string) Option { return func(o *options) { o.tempDir = dir } }

// restartLimit is a token bucket of starts. It is not safe for concurrent use.
type restartLimit struct {
	burst  int
	every  time.Duration
	tokens float64
	filled time.Time
}

// take uses up one start, or returns how long until there is one.
func (l *restartLimit) take(now time.Time) (wait time.Duration) {
	if l.filled.IsZero() {
		l.tokens = float64(l.burst)
	} else if l.every > 0 {
		l.tokens = min(float64(l.burst), l.tokens+float64(now.Sub(l.filled))/float64(l.every))
	}
	l.filled = now
	if l.tokens < 1 {
		return time.Duration((1 - l.tokens) * float64(l.every))
	}
	l.tokens--
	return 0
}
