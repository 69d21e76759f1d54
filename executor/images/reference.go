package images

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/yurtrun/yurt"
)

// layoutScheme begins a reference to a directory in the OCI layout.
const layoutScheme = "oci:"

// AnyRegistry allows all, among the registries that are allowed.
const AnyRegistry = "*"

// field is the field of errors about a reference.
const field = "rootfs.image"

// reference is a parsed name of an image.
type reference struct {
	text   string
	remote name.Reference // in a registry; or else
	layout string         // the directory that it is in
	tag    string         // of one in a layout; "" for the only one
	digest string         // that the reference names; "" without one
}

// parse reads a reference and checks that the operator allows where it leads.
func (c *Config) parse(text string) (reference, error) {
	if err := yurt.ValidateImage(field, text); err != nil {
		return reference{}, err
	}
	if rest, ok := strings.CutPrefix(text, layoutScheme); ok {
		return c.parseLayout(text, rest)
	}
	remote, err := name.ParseReference(text)
	if err != nil {
		return reference{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%q is no reference of an image: %w", text, err)
	}
	r := reference{text: text, remote: remote}
	if d, ok := remote.(name.Digest); ok {
		r.digest = d.DigestStr()
	}
	host := registryName(remote.Context().RegistryStr())
	if !slices.ContainsFunc(c.Registries, func(allowed string) bool { return allowed == AnyRegistry || registryName(allowed) == host }) {
		return reference{}, yurt.FieldErrorf(yurt.CodeForbidden, field, "%s: %s", text, c.notAllowed(host))
	}
	return r, nil
}

// registryName is how a registry is called: that of Docker has several names.
func registryName(host string) string {
	if host == name.DefaultRegistry {
		return "docker.io"
	}
	return host
}

func (c *Config) notAllowed(host string) string {
	from := ""
	if len(c.Registries) > 0 {
		from = ", but from " + strings.Join(c.Registries, ", ")
	}
	return "this node takes no images from the registry " + host + from + "; its operator can allow that by image-registries"
}

// parseLayout reads DIR, DIR:TAG or DIR@DIGEST.
func (c *Config) parseLayout(text, rest string) (reference, error) {
	r := reference{text: text}
	dir, digest, hasDigest := strings.Cut(rest, "@")
	if hasDigest {
		if _, err := v1.NewHash(digest); err != nil {
			return reference{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%q: %w", text, err)
		}
		r.digest = digest
	} else if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
		dir, r.tag = rest[:i], rest[i+1:]
	}
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
		return reference{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%q has no absolute and clean path; give oci:/DIRECTORY, and after it :TAG or @DIGEST if there are several images in it", text)
	}
	real, err := c.Files.FindLayout(dir)
	if err != nil {
		return reference{}, yurt.FieldErrorf(yurt.CodeOf(err), field, "%s: %w", text, err)
	}
	r.layout = real
	return r, nil
}

// pinned returns the reference by which this very image is found again.
func (r reference) pinned(digest string) string {
	if r.layout != "" {
		return layoutScheme + r.layout + "@" + digest
	}
	return r.remote.Context().Name() + "@" + digest
}
