package images

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/imagefiles"
)

// maxDocument bounds an index, a manifest and a configuration in a layout, in bytes.
const maxDocument = 4 << 20

// layoutDir is a directory in the OCI layout. This process may be unable to open the files in it.
type layoutDir struct {
	files imagefiles.Requests
	dir   string
}

// index returns all images of the layout.
func (l layoutDir) index() (v1.ImageIndex, error) {
	raw, err := l.read("")
	return &layoutIndex{l, types.OCIImageIndex, raw}, err
}

// read returns a document: the index, or a blob.
func (l layoutDir) read(blob string) ([]byte, error) {
	file, err := l.files.OpenLayout(l.dir, blob)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = yurt.Errorf(yurt.CodeLimitOutOfRange, "the document %s of the layout has more than %d bytes; that is what one may have", blob, maxDocument)
	}
	return data, err
}

// layoutIndex is an index in a layout.
type layoutIndex struct {
	layoutDir

	kind types.MediaType
	raw  []byte
}

var _ v1.ImageIndex = (*layoutIndex)(nil)

// MediaType implements [v1.ImageIndex].
func (i *layoutIndex) MediaType() (types.MediaType, error) { return i.kind, nil }

// Digest implements [v1.ImageIndex].
func (i *layoutIndex) Digest() (v1.Hash, error) { return partial.Digest(i) }

// Size implements [v1.ImageIndex].
func (i *layoutIndex) Size() (int64, error) { return partial.Size(i) }

// RawManifest implements [v1.ImageIndex].
func (i *layoutIndex) RawManifest() ([]byte, error) { return i.raw, nil }

// IndexManifest implements [v1.ImageIndex].
func (i *layoutIndex) IndexManifest() (*v1.IndexManifest, error) {
	index := new(v1.IndexManifest)
	return index, json.Unmarshal(i.raw, index)
}

// Image implements [v1.ImageIndex].
func (i *layoutIndex) Image(digest v1.Hash) (v1.Image, error) {
	kind, raw, err := i.member(digest, types.MediaType.IsImage)
	if err != nil {
		return nil, err
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&layoutImage{i.layoutDir, kind, raw, manifest})
}

// ImageIndex implements [v1.ImageIndex].
func (i *layoutIndex) ImageIndex(digest v1.Hash) (v1.ImageIndex, error) {
	kind, raw, err := i.member(digest, types.MediaType.IsIndex)
	return &layoutIndex{i.layoutDir, kind, raw}, err
}

// member reads a document that the index names.
func (i *layoutIndex) member(digest v1.Hash, is func(types.MediaType) bool) (types.MediaType, []byte, error) {
	index, err := i.IndexManifest()
	if err != nil {
		return "", nil, err
	}
	at := slices.IndexFunc(index.Manifests, func(d v1.Descriptor) bool { return d.Digest == digest && is(d.MediaType) })
	if at < 0 {
		return "", nil, fmt.Errorf("the index does not have %s", digest)
	}
	raw, err := i.read(digest.Hex)
	if err != nil {
		return "", nil, err
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != digest.Hex {
		return "", nil, yurt.Errorf(yurt.CodeArchiveInvalid, "its manifest does not have the digest %s", digest)
	}
	return index.Manifests[at].MediaType, raw, nil
}

// layoutImage is an image in a layout.
type layoutImage struct {
	layoutDir

	kind     types.MediaType
	raw      []byte
	manifest *v1.Manifest
}

var _ partial.CompressedImageCore = (*layoutImage)(nil)

// MediaType implements [partial.CompressedImageCore].
func (m *layoutImage) MediaType() (types.MediaType, error) { return m.kind, nil }

// RawManifest implements [partial.CompressedImageCore].
func (m *layoutImage) RawManifest() ([]byte, error) { return m.raw, nil }

// RawConfigFile implements [partial.CompressedImageCore].
func (m *layoutImage) RawConfigFile() ([]byte, error) { return m.read(m.manifest.Config.Digest.Hex) }

// LayerByDigest implements [partial.CompressedImageCore].
func (m *layoutImage) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	for _, desc := range m.manifest.Layers {
		if desc.Digest == digest {
			return &layoutBlob{m.layoutDir, desc}, nil
		}
	}
	return nil, fmt.Errorf("the image does not have the layer %s", digest)
}

// layoutBlob is a layer in a layout.
type layoutBlob struct {
	layoutDir

	desc v1.Descriptor
}

// Digest implements [partial.CompressedLayer].
func (b *layoutBlob) Digest() (v1.Hash, error) { return b.desc.Digest, nil }

// Size implements [partial.CompressedLayer].
func (b *layoutBlob) Size() (int64, error) { return b.desc.Size, nil }

// MediaType implements [partial.CompressedLayer].
func (b *layoutBlob) MediaType() (types.MediaType, error) { return b.desc.MediaType, nil }

// Compressed implements [partial.CompressedLayer].
func (b *layoutBlob) Compressed() (io.ReadCloser, error) {
	return b.files.OpenLayout(b.dir, b.desc.Digest.Hex)
}
