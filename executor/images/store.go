package images

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/imagefiles"
	"github.com/yurtrun/yurt/executor/trees"
)

// Config says which images a node takes, and where it keeps them. The zero value takes no image.
type Config struct {
	// Registries are the hosts, with a port if there is one, that images are taken from;
	// [AnyRegistry] allows all.
	Registries []string
	// Layouts are directories in the OCI layout that images are taken from, with all below them.
	Layouts []string
	// AuthFile holds the credentials for registries, as Docker's config.json does; "" for no credentials.
	AuthFile  string
	Dir       string        // where images are kept
	KeepBytes int64         // of all that are kept; 0 means 20 GiB
	Timeout   time.Duration // of one pull; 0 means 15 minutes
	Logger    *slog.Logger  `json:"-"`
	// Programs starts the unpacker. It is nil in a process without power over its host.
	Programs Starter `json:"-"`
	// Files opens layouts and credentials. Where it is nil, this process opens them itself.
	Files imagefiles.Requests `json:"-"`
}

const (
	defaultKeepBytes = 20 << 30
	defaultTimeout   = 15 * time.Minute
	maxPulls         = 2 // at once
)

// limits bound one image.
type limits struct {
	compressed, bytes int64
	entries           int
	// An image whose files take more than free is refused if they are more than ratio times its download.
	free, ratio int64
}

func defaultLimits(keep int64) limits {
	return limits{compressed: min(8<<30, keep), bytes: min(16<<30, keep), entries: 500_000, free: 256 << 20, ratio: 100}
}

// Store keeps images. Its methods may be called concurrently.
type Store struct {
	config  Config
	limits  limits
	trees   *trees.Store
	running chan struct{} // holds one for each pull that goes on

	mu    sync.Mutex
	pulls map[string]*pull   // by reference
	known map[string]meaning // likewise

	wait sync.WaitGroup
	ctx  context.Context
	stop context.CancelFunc
}

// meaning is a resolved reference.
type meaning struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
}

// maxKnown bounds the number of resolved references.
const maxKnown = 4096

// Open returns the store in config.Dir, an absolute path.
func Open(config Config) (*Store, error) {
	config.KeepBytes = cmp.Or(config.KeepBytes, defaultKeepBytes)
	config.Timeout = cmp.Or(config.Timeout, defaultTimeout)
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Files == nil {
		config.Files = imagefiles.Files{Layouts: config.Layouts, Credentials: config.AuthFile}
	}
	kept, err := trees.Open(config.Dir, config.KeepBytes)
	if err != nil {
		return nil, err
	}
	s := &Store{
		config: config, limits: defaultLimits(config.KeepBytes), trees: kept, running: make(chan struct{}, maxPulls),
		pulls: make(map[string]*pull), known: make(map[string]meaning),
	}
	data, err := os.ReadFile(s.knownPath())
	if err == nil {
		err = json.Unmarshal(data, &s.known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it is found out again
		config.Logger.Warn("the meaning of image references could not be stored", "error", err)
		s.known = make(map[string]meaning)
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Close ends the pulls under way and releases every image.
func (s *Store) Close() error {
	s.stop()
	s.wait.Wait()
	return s.trees.Close()
}

// Image is one that is there.
type Image struct {
	yurt.ImageInfo
	Key  string // that it is held by
	Root string // the directory with its files
}

// unpackVersion is part of every key: another way to unpack makes other directories.
const unpackVersion = "1 "

// keyOf names the directory of an unpacked image.
func keyOf(digest string) string {
	sum := sha256.Sum256([]byte(unpackVersion + digest))
	return hex.EncodeToString(sum[:])
}

// Use returns the image of the key, if it is there, and keeps it for the user until Release.
func (s *Store) Use(key, user string) (*Image, error) {
	there, err := s.trees.Use(key, user)
	if err != nil || !there {
		return nil, err
	}
	image := &Image{Key: key, Root: s.trees.Tree(key)}
	return image, s.trees.Facts(key, &image.ImageInfo)
}

// Release ends all use by the user.
func (s *Store) Release(user string) { s.trees.Release(user) }

// Check refuses a malformed reference, and one that the operator does not allow.
func (s *Store) Check(text string) error {
	_, err := s.config.parse(text)
	return err
}

// Get returns the image of the reference and keeps it for the user until Release. An image that is not there is pulled, once for
// all callers; tell hears the progress. A reference without a digest is resolved anew if fresh is set: if its registry cannot be
// asked then, tell hears so, and the image that is there is taken.
func (s *Store) Get(ctx context.Context, text, user string, fresh bool, tell func(string) error) (*Image, error) {
	r, err := s.config.parse(text)
	if err != nil {
		return nil, err
	}
	had, err := s.had(r, user)
	if err != nil || had != nil && (!fresh || r.digest != "") {
		return had, err
	}
	for range getTries {
		key, err := s.await(ctx, r, tell)
		if yurt.CodeOf(err) == yurt.CodeUnavailable && had != nil && ctx.Err() == nil {
			return had, tell("Taking the one that is there of " + had.Digest + ", because " + err.Error())
		}
		if err != nil {
			return nil, err
		}
		if image, err := s.Use(key, user); image != nil || err != nil {
			return image, err
		}
	}
	return nil, yurt.FieldErrorf(yurt.CodeOverloaded, field, "image %s is removed as soon as it is there, since other images take all the room that they may; try again later", text)
}

// getTries is how often an image is pulled that had to make room for others at once.
const getTries = 3

// had returns the image that the reference was last found to mean; nil if it is not there.
func (s *Store) had(r reference, user string) (*Image, error) {
	s.mu.Lock()
	digest := s.known[r.text].Digest
	s.mu.Unlock()
	if digest == "" {
		digest = r.digest
	}
	if digest == "" {
		return nil, nil //nolint:nilnil // as the comment says
	}
	return s.Use(keyOf(digest), user)
}

func (s *Store) knownPath() string { return filepath.Join(s.config.Dir, "references.json") }

// remember notes a resolved reference.
func (s *Store) remember(r reference, digest string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.known[r.text]; !there && len(s.known) >= maxKnown {
		clear(s.known) // it is found out again
	}
	s.known[r.text] = meaning{Digest: digest, At: time.Now()}
	data, err := json.Marshal(s.known)
	if err != nil {
		return fmt.Errorf("remembering an image: %w", err)
	}
	temp := s.knownPath() + ".new"
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return fmt.Errorf("remembering an image: %w", err)
	}
	if err := os.Rename(temp, s.knownPath()); err != nil {
		return fmt.Errorf("remembering an image: %w", err)
	}
	return nil
}

// Describe returns the image's configuration for running it. It is an error if the image names a user that it does not know.
func (i *Image) Describe() (yurt.ImageInfo, error) {
	t, err := openTree(i.Root)
	if err != nil {
		return yurt.ImageInfo{}, err
	}
	defer t.close()
	info := i.ImageInfo
	if info.RunAs, err = t.user(info.User); err != nil || info.RunAs == nil {
		return info, err
	}
	info.Name, info.Home, err = t.account(info.RunAs.UID)
	return info, err
}
