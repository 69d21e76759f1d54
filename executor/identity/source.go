package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

// Files are a part's own certificate and key, and the authorities that it trusts.
type Files struct {
	Authorities string // certificates of those that are trusted; several while one replaces another
	Certificate string
	Key         string
}

// lookPeriod is how often a part looks at its files of its own accord. A part without new connections learns of a change by that look.
const lookPeriod = time.Second

// Source is the present content of the files. Its methods may be called concurrently.
type Source struct {
	files  Files
	role   Role
	logger *slog.Logger
	now    func() time.Time
	look   chan struct{} // holds an item while Run has a change to tell of

	mu       sync.Mutex
	read     [3][]byte // the content of the files at the last look
	in       *material // the content in use
	unfit    error     // why the content that was read last is not in use
	failed   error     // likewise, or why the files could not be read at the last look
	warned   string    // the last warning in the log, so that each fault is logged once
	watchers map[*watcher]struct{}
}

// watcher is called after a change.
type watcher struct{ changed func() }

// material is one state of the files, decoded.
type material struct {
	certificate tls.Certificate
	name        Name
	roots       *x509.CertPool
}

// Open reads the files of a part that has the role.
func Open(files Files, role Role, now func() time.Time, logger *slog.Logger) (*Source, error) {
	s := &Source{files: files, role: role, now: now, logger: logger, look: make(chan struct{}, 1), watchers: map[*watcher]struct{}{}}
	m, err := s.current()
	if err != nil {
		return nil, err
	}
	logger.Info("certificate read", "name", m.name.String(), "expires", date(m.certificate.Leaf.NotAfter))
	return s, nil
}

// Run looks at the files every second until ctx is done, so that a part without new connections takes over a change too. It tells the
// watchers of each change.
func (s *Source) Run(ctx context.Context) {
	ticker := time.NewTicker(lookPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = s.Refresh() // the log has the error
		case <-s.look:
			s.tell()
		}
	}
}

// Refresh looks at the files at once. Its error is the reason why their content is not in use.
func (s *Source) Refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.failed
}

// Watch has changed called by Run after each change, until the caller calls forget. A call may still be under way then.
func (s *Source) Watch(changed func()) (forget func()) {
	w := &watcher{changed}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[w] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}
}

// tell calls the watchers.
func (s *Source) tell() {
	s.mu.Lock()
	watchers := slices.Collect(maps.Keys(s.watchers))
	s.mu.Unlock()
	for _, w := range watchers {
		w.changed()
	}
}

// Name returns the name in the certificate, and when that expires.
func (s *Source) Name() (Name, time.Time, error) {
	m, err := s.current()
	if err != nil {
		return Name{}, time.Time{}, err
	}
	return m.name, m.certificate.Leaf.NotAfter, nil
}

// current returns the material for a handshake that begins now.
func (s *Source) current() (*material, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	if s.in == nil {
		return nil, s.failed
	}
	if leaf := s.in.certificate.Leaf; s.now().After(leaf.NotAfter) {
		return nil, errors.Join(yurt.Errorf(yurt.CodeUnavailable, "the certificate %s (%s) expired at %s; issue another with yurt ca issue",
			s.files.Certificate, s.in.name, date(leaf.NotAfter)), s.failed)
	}
	return s.in, nil
}

// refresh takes over new content of the files, if it can be used.
func (s *Source) refresh() {
	var read [3][]byte
	changed := s.in == nil
	flags := []string{"--tls-ca", "--tls-cert", "--tls-key"} // of every program that has such files
	for i, path := range []string{s.files.Authorities, s.files.Certificate, s.files.Key} {
		data, err := os.ReadFile(path)
		if err != nil {
			s.failed = yurt.FieldErrorf(yurt.CodeInvalidArgument, flags[i], "reading the file: %w; give one that yurt ca made", err)
			s.warn()
			return
		}
		read[i] = data
		changed = changed || !bytes.Equal(data, s.read[i])
	}
	if !changed {
		s.failed = s.unfit
		return
	}
	s.read = read
	m, err := s.load(read)
	if s.unfit, s.failed = err, err; err != nil {
		s.warn()
		return
	}
	if s.in != nil {
		s.logger.Info("certificate replaced", "name", m.name.String(), "expires", date(m.certificate.Leaf.NotAfter))
		select {
		case s.look <- struct{}{}:
		default: // Run has not told of the change before yet
		}
	}
	s.in, s.warned = m, ""
}

// warn logs once that the present content of the files is not in use.
func (s *Source) warn() {
	if text := s.failed.Error(); s.in != nil && text != s.warned {
		s.warned = text
		s.logger.Warn("certificate not replaced; the one before is used on", "error", s.failed)
	}
}

func (s *Source) load(read [3][]byte) (*material, error) {
	m := &material{roots: x509.NewCertPool()}
	if !m.roots.AppendCertsFromPEM(read[0]) {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "%s holds no certificate of an authority", s.files.Authorities)
	}
	var err error
	if m.certificate, err = tls.X509KeyPair(read[1], read[2]); err != nil {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "%s and %s are no certificate and its key: %w", s.files.Certificate, s.files.Key, err)
	}
	if m.name, err = nameIn(m.certificate.Leaf); err != nil {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the certificate %s cannot be used: %w", s.files.Certificate, err)
	}
	if m.name.Role != s.role {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the certificate %s is of %s; a certificate for the role %s is needed here", s.files.Certificate, m.name, s.role)
	}
	leaf := m.certificate.Leaf
	at := leaf.NotAfter // whether it has expired is said elsewhere
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: m.roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the certificate %s is not from an authority in %s: %w", s.files.Certificate, s.files.Authorities, err)
	}
	return m, nil
}
