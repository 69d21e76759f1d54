package host

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/binary"
)

// MaxChecksumBytes bounds a list of checksums.
const MaxChecksumBytes = 1 << 20

// WithChecksums lets the host start only runtimes whose binary has the SHA-256 that is given for its name, in hexadecimal. Nil
// means no check.
func WithChecksums(sums map[string]string) Option { return func(o *options) { o.checksums = sums } }

// ParseChecksums reads the output of sha256sum over the binaries of runtimes, for [WithChecksums].
func ParseChecksums(text string) (map[string]string, error) {
	if len(text) > MaxChecksumBytes {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "the list of checksums has %d bytes; at most %d are allowed", len(text), MaxChecksumBytes)
	}
	sums := make(map[string]string)
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		sum, file, _ := strings.Cut(line, " ")
		file = path.Base(strings.TrimLeft(file, " *"))
		name, ok := strings.CutPrefix(file, plugins.BinaryPrefix)
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size || !ok || !binary.ValidName(name) {
			return nil, yurt.Errorf(yurt.CodeInvalidArgument, "line %d of the checksums is not what sha256sum prints of a file %s…", number, plugins.BinaryPrefix)
		}
		if before, ok := sums[name]; ok && !strings.EqualFold(before, sum) {
			return nil, yurt.Errorf(yurt.CodeInvalidArgument, "line %d of the checksums gives another one for %s", number, name)
		}
		sums[name] = strings.ToLower(sum)
	}
	return sums, nil
}
