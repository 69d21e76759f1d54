package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/trees"
)

// pull is a pull under way, for all callers that wait for it. It goes on without them, too: a later caller finds it, or its image.
type pull struct {
	done chan struct{} // closed when key or err is there

	mu      sync.Mutex
	said    string
	changed chan struct{} // closed when something was said after that

	key string
	err error
}

// say tells all waiting callers of the progress; a slow caller hears the last word alone.
func (p *pull) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = fmt.Sprintf(format, args...)
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *pull) word() (string, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said, p.changed
}

// await pulls the image, or waits for the pull under way.
func (s *Store) await(ctx context.Context, r reference, tell func(string) error) (string, error) {
	s.mu.Lock()
	p := s.pulls[r.text]
	if p == nil {
		if s.ctx.Err() != nil {
			s.mu.Unlock()
			return "", yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down")
		}
		p = &pull{done: make(chan struct{}), changed: make(chan struct{})}
		s.pulls[r.text] = p
		s.wait.Go(func() { s.carryOut(p, r) })
	}
	s.mu.Unlock()
	told := ""
	for {
		said, changed := p.word()
		if said != told {
			told = said
			if err := tell(said); err != nil {
				return "", err
			}
		}
		select {
		case <-changed:
		case <-p.done:
			return p.key, p.err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// carryOut is the goroutine of a pull.
func (s *Store) carryOut(p *pull, r reference) {
	ctx, cancel := context.WithTimeout(s.ctx, s.config.Timeout)
	defer cancel()
	began := time.Now()
	p.key, p.err = s.pull(ctx, p, r)
	if p.err != nil {
		s.config.Logger.Warn("image not pulled", "image", r.text, "error", p.err)
	} else {
		s.config.Logger.Info("image pulled", "image", r.text, "seconds", time.Since(began).Seconds())
	}
	s.mu.Lock()
	delete(s.pulls, r.text)
	s.mu.Unlock()
	close(p.done)
}

func (s *Store) pull(ctx context.Context, p *pull, r reference) (string, error) {
	select {
	case s.running <- struct{}{}:
	case <-ctx.Done():
		return "", explain(r, ctx.Err())
	}
	defer func() { <-s.running }()
	f, err := s.find(ctx, r)
	if err != nil {
		return "", err
	}
	key := keyOf(f.digest.String())
	user := "pull of " + r.text
	defer s.trees.Release(user)
	there, err := s.trees.Use(key, user)
	if err == nil && !there {
		err = s.trees.Make(key, func(dir string) (trees.Made, error) { return s.fill(ctx, p, r, f, dir) })
	}
	if err != nil {
		return "", err
	}
	return key, s.remember(r, f.digest.String())
}

// fill downloads the image and unpacks it into a directory.
func (s *Store) fill(ctx context.Context, p *pull, r reference, f found, dir string) (trees.Made, error) {
	blobs := filepath.Join(dir, "blobs")
	if err := os.Mkdir(blobs, 0o700); err != nil {
		return trees.Made{}, fmt.Errorf("pulling an image: %w", err)
	}
	if err := s.download(ctx, p, r, f, blobs); err != nil {
		return trees.Made{}, explain(r, err)
	}
	p.say("Unpacking image %s", r.text)
	order := unpackOrder{Bytes: min(s.limits.bytes, max(s.limits.free, s.limits.ratio*f.bytes)), Entries: s.limits.entries}
	for _, layer := range f.manifest.Layers {
		order.Layers = append(order.Layers, layer.Size)
	}
	made, err := s.unpack(ctx, r, blobs, filepath.Join(dir, trees.Dir), order)
	if err != nil {
		return trees.Made{}, err
	}
	info, err := describe(r, f, made)
	if err != nil {
		return trees.Made{}, refuse(r, err)
	}
	made.Facts = info
	p.say("Image %s is there: %d files, %s", r.text, made.Entries, yurt.Size(made.Bytes))
	return made, os.RemoveAll(blobs)
}

// refuseLayer returns the fault of a layer, or of this node if the layer is sound.
func refuseLayer(ctx context.Context, r reference, i int, err error) error {
	if ctx.Err() != nil {
		return explain(r, ctx.Err())
	}
	return yurt.FieldErrorf(yurt.CodeOf(err), field, "image %s: layer %d: %w", r.text, i+1, err)
}

// describe returns the facts about an unpacked image.
func describe(r reference, f found, made trees.Made) (yurt.ImageInfo, error) {
	c := f.config.Config
	info := yurt.ImageInfo{
		Reference: r.pinned(f.digest.String()), Digest: f.digest.String(), Bytes: yurt.Size(made.Bytes), Entries: made.Entries,
		Env: make(map[string]string, len(c.Env)), Entrypoint: c.Entrypoint, Command: c.Cmd, WorkingDir: c.WorkingDir, User: c.User,
	}
	for _, pair := range c.Env {
		name, value, _ := strings.Cut(pair, "=")
		info.Env[name] = value
	}
	return info, yurt.ValidateEnv("image", info.Env)
}

// downloads is how many layers come at once, and tries how often one is begun.
const (
	downloads = 3
	tries     = 3
	tryPause  = time.Second
	sayEvery  = 2 * time.Second
)

// download brings the layers, each into a file of its number.
func (s *Store) download(ctx context.Context, p *pull, r reference, f found, dir string) error {
	p.say("Downloading image %s: %d layers, %s", r.text, len(f.manifest.Layers), yurt.Size(f.bytes))
	var came atomic.Int64
	stop := make(chan struct{})
	var teller sync.WaitGroup
	teller.Go(func() {
		ticker := time.NewTicker(sayEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.say("Downloading image %s: %s of %s", r.text, yurt.Size(came.Load()), yurt.Size(f.bytes))
			case <-stop:
				return
			}
		}
	})
	defer teller.Wait()
	defer close(stop)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(downloads)
	for i, desc := range f.manifest.Layers {
		group.Go(func() error {
			return downloadLayer(ctx, f.image, desc, filepath.Join(dir, strconv.Itoa(i)), &came)
		})
	}
	return group.Wait()
}

// downloadLayer tries a few times, since connections break now and then.
func downloadLayer(ctx context.Context, image v1.Image, desc v1.Descriptor, path string, came *atomic.Int64) error {
	for try := 1; ; try++ {
		count := int64(0)
		err := copyLayer(ctx, image, desc, path, func(n int64) { count += n; came.Add(n) })
		if err == nil || try == tries || ctx.Err() != nil {
			return err
		}
		came.Add(-count)
		select {
		case <-time.After(time.Duration(try) * tryPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// copyLayer writes a layer to a file and checks its digest.
func copyLayer(ctx context.Context, image v1.Image, desc v1.Descriptor, path string, came func(int64)) error {
	layer, err := image.LayerByDigest(desc.Digest)
	if err != nil {
		return err
	}
	source, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer source.Close()
	unhook := context.AfterFunc(ctx, func() { source.Close() }) // a file or a server may never end
	defer unhook()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, hash, counter(came)), io.LimitReader(source, desc.Size+1))
	if err != nil {
		return err
	}
	if size != desc.Size || hex.EncodeToString(hash.Sum(nil)) != desc.Digest.Hex {
		return yurt.Errorf(yurt.CodeArchiveInvalid, "the layer %s does not match its digest", desc.Digest)
	}
	return file.Close()
}

// counter counts the bytes that are written to it.
type counter func(int64)

func (c counter) Write(p []byte) (int, error) {
	c(int64(len(p)))
	return len(p), nil
}
