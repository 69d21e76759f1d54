package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/yurtrun/yurt"
)

// Bounds of an image's own documents.
const (
	maxLayers     = 256
	maxConfigSize = 1 << 20
)

// found is an image for this platform, of which only manifest and configuration have been read.
type found struct {
	image    v1.Image
	digest   v1.Hash
	manifest *v1.Manifest
	config   *v1.ConfigFile
	bytes    int64 // of its layers, compressed
}

// platform is the platform of this node.
func platform() v1.Platform { return v1.Platform{OS: "linux", Architecture: runtime.GOARCH} }

// find resolves the reference at the registry, or in the layout.
func (s *Store) find(ctx context.Context, r reference) (found, error) {
	image, err := s.lookUp(ctx, r)
	if err != nil {
		return found{}, explain(r, err)
	}
	f := found{image: image}
	if f.digest, err = image.Digest(); err != nil {
		return found{}, explain(r, err)
	}
	if f.manifest, err = image.Manifest(); err != nil {
		return found{}, explain(r, err)
	}
	if err := f.check(s.limits.compressed); err != nil {
		return found{}, refuse(r, err)
	}
	raw, err := image.RawConfigFile()
	if err != nil {
		return found{}, explain(r, err)
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != f.manifest.Config.Digest.Hex {
		return found{}, refuse(r, yurt.Errorf(yurt.CodeArchiveInvalid, "its configuration does not have the digest that its manifest names"))
	}
	if f.config, err = image.ConfigFile(); err != nil {
		return found{}, explain(r, err)
	}
	if c := f.config; c.OS != platform().OS || c.Architecture != platform().Architecture {
		return found{}, refuse(r, yurt.Errorf(yurt.CodeNotSupported, "it is for %s/%s, and this node is %s", c.OS, c.Architecture, platform()))
	}
	return f, nil
}

// check refuses a manifest that is of no image that can be had.
func (f *found) check(most int64) error {
	m := f.manifest
	switch {
	case !m.Config.MediaType.IsConfig():
		return yurt.Errorf(yurt.CodeNotSupported, "it is no container image, but an artifact of type %.100q", string(m.Config.MediaType))
	case m.Config.Size > maxConfigSize || m.Config.Size < 0 || m.Config.Digest.Algorithm != "sha256":
		return yurt.Errorf(yurt.CodeLimitOutOfRange, "its configuration has %d bytes under a digest of %.20q; at most %d under one of sha256 are allowed", m.Config.Size, m.Config.Digest.Algorithm, maxConfigSize)
	case len(m.Layers) > maxLayers:
		return yurt.Errorf(yurt.CodeLimitOutOfRange, "it has %d layers; at most %d are allowed", len(m.Layers), maxLayers)
	}
	for i, l := range m.Layers {
		switch {
		case !l.MediaType.IsLayer() || l.Digest.Algorithm != "sha256" || l.Size < 0:
			return yurt.Errorf(yurt.CodeNotSupported, "its layer %d is of type %.100q under a digest of %.20q, which cannot be unpacked", i+1, string(l.MediaType), l.Digest.Algorithm)
		case len(l.URLs) > 0:
			// They lead anywhere, also to where the operator does not allow.
			return yurt.Errorf(yurt.CodeForbidden, "its layer %d is elsewhere than its registry", i+1)
		}
		if f.bytes += l.Size; f.bytes > most || f.bytes < 0 {
			return yurt.Errorf(yurt.CodeLimitOutOfRange, "its layers have more than %s; that is what an image may have on this node", yurt.Size(most))
		}
	}
	return nil
}

func (s *Store) lookUp(ctx context.Context, r reference) (v1.Image, error) {
	if r.layout != "" {
		index, err := layoutDir{s.config.Files, r.layout}.index()
		if err != nil {
			return nil, err
		}
		return inLayout(index, r)
	}
	desc, err := remote.Get(r.remote, remote.WithContext(ctx), remote.WithAuthFromKeychain(credentials{s.config.Files, s.config.AuthFile}),
		remote.WithPlatform(platform()), remote.WithUserAgent("yurt"))
	if err != nil {
		return nil, err
	}
	if !desc.MediaType.IsIndex() {
		return desc.Image()
	}
	index, err := desc.ImageIndex()
	if err != nil {
		return nil, err
	}
	return ofPlatform(index)
}

// ofPlatform returns the image in the index that is for this platform.
func ofPlatform(index v1.ImageIndex) (v1.Image, error) {
	m, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var others []string
	for _, d := range m.Manifests {
		if !d.MediaType.IsImage() || d.Platform == nil {
			continue
		}
		if d.Platform.OS == platform().OS && d.Platform.Architecture == platform().Architecture {
			return checked(index, d.Digest)
		}
		if name := d.Platform.String(); !slices.Contains(others, name) && d.Platform.OS != "unknown" {
			others = append(others, name)
		}
	}
	return nil, yurt.Errorf(yurt.CodeNotSupported, "it is for %.300s, and this node is %s", strings.Join(others, ", "), platform())
}

// checked returns the image of the digest, which it has.
func checked(index v1.ImageIndex, digest v1.Hash) (v1.Image, error) {
	image, err := index.Image(digest)
	if err != nil {
		return nil, err
	}
	if real, err := image.Digest(); err != nil || real != digest {
		return nil, errors.Join(yurt.Errorf(yurt.CodeArchiveInvalid, "its manifest does not have the digest %s", digest), err)
	}
	return image, nil
}

// refName is the annotation that names an image in a layout.
const refName = "org.opencontainers.image.ref.name"

// inLayout returns the image that the reference means, which may be one of several.
func inLayout(index v1.ImageIndex, r reference) (v1.Image, error) {
	m, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	matches := slices.DeleteFunc(slices.Clone(m.Manifests), func(d v1.Descriptor) bool {
		foreign := d.Platform != nil && (d.Platform.OS != platform().OS || d.Platform.Architecture != platform().Architecture)
		return r.tag != "" && d.Annotations[refName] != r.tag || r.digest == "" && foreign
	})
	if r.digest != "" {
		return byDigest(index, matches, r.digest, 2)
	}
	switch {
	case len(matches) == 0 && r.tag != "":
		return nil, yurt.Errorf(yurt.CodeNotFound, "the layout has no image %q for %s", r.tag, platform())
	case len(matches) == 0:
		return nil, yurt.Errorf(yurt.CodeNotSupported, "the layout has no image for %s", platform())
	case len(matches) > 1:
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the layout has %d images; say which with :TAG or @DIGEST", len(matches))
	case matches[0].MediaType.IsIndex():
		inner, err := index.ImageIndex(matches[0].Digest)
		if err != nil {
			return nil, err
		}
		return ofPlatform(inner)
	}
	return checked(index, matches[0].Digest)
}

// byDigest returns the image of the digest, or that for this platform in the index of it.
func byDigest(index v1.ImageIndex, among []v1.Descriptor, digest string, deep int) (v1.Image, error) {
	for _, d := range among {
		if d.MediaType.IsImage() {
			if d.Digest.String() == digest {
				return checked(index, d.Digest)
			}
			continue
		}
		if !d.MediaType.IsIndex() || deep == 0 {
			continue
		}
		inner, err := index.ImageIndex(d.Digest)
		if err != nil {
			return nil, err
		}
		if real, err := inner.Digest(); d.Digest.String() == digest && err == nil && real == d.Digest {
			return ofPlatform(inner)
		}
		m, err := inner.IndexManifest()
		if err != nil {
			return nil, err
		}
		image, err := byDigest(inner, m.Manifests, digest, deep-1)
		if yurt.CodeOf(err) != yurt.CodeNotFound {
			return image, err
		}
	}
	return nil, yurt.Errorf(yurt.CodeNotFound, "the layout has no image %s", digest)
}

// refuse returns an error about an image.
func refuse(r reference, err error) error {
	return yurt.FieldErrorf(yurt.CodeOf(err), field, "image %s: %w", r.text, err)
}

// explain translates an error of a registry or a layout.
func explain(r reference, err error) error {
	coded := new(yurt.Error)
	failure := new(transport.Error)
	switch {
	case errors.As(err, &coded):
		return refuse(r, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return yurt.FieldErrorf(yurt.CodeUnavailable, field, "image %s: its registry did not answer in time: %w", r.text, err)
	case errors.As(err, &failure):
		return yurt.FieldErrorf(codeOf(failure.StatusCode), field, "image %s: %w", r.text, err)
	case errors.Is(err, fs.ErrNotExist):
		return yurt.FieldErrorf(yurt.CodeNotFound, field, "image %s: the layout is not whole: %w", r.text, err)
	case isMismatch(err):
		return yurt.FieldErrorf(yurt.CodeArchiveInvalid, field, "image %s: the content does not match its digest: %w", r.text, err)
	default:
		return yurt.FieldErrorf(yurt.CodeUnavailable, field, "image %s could not be had: %w", r.text, err)
	}
}

func codeOf(status int) yurt.Code {
	switch status {
	case http.StatusNotFound:
		return yurt.CodeNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return yurt.CodeForbidden
	default:
		return yurt.CodeUnavailable
	}
}

// isMismatch reports whether a digest or a size was not the one that was asked for. The
// library has no type for that.
func isMismatch(err error) bool {
	text := err.Error()
	return slices.ContainsFunc([]string{"does not match requested digest", "does not match expected size", "error verifying"}, func(part string) bool {
		return strings.Contains(text, part)
	})
}
