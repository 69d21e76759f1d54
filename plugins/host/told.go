package host

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	pb "google.golang.org/protobuf/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/binary"
	"github.com/yurtrun/yurt/plugins/proto"
)

// DescriptionsFile is the file of a plugin directory with the descriptions of its runtimes. A line has the SHA-256 of a binary, the name
// of the runtime, and its answer to [plugins.DescribeArgument]. The pattern plugins/*, by which operators make checksums, does not match it.
const DescriptionsFile = ".descriptions"

const maxDescriptions = 1 << 20 // bytes

// WithDescriptions lets the host take the descriptions in [DescriptionsFile] in place of starting each runtime for its own. A line counts
// for the binary with its SHA-256 alone. Without the file, or with one that others could have changed, runtimes are started.
func WithDescriptions() Option { return func(o *options) { o.descriptions = true } }

// told is the description of a runtime by the file.
type told struct {
	sum  string // SHA-256 of the binary, in hexadecimal
	info yurt.RuntimeInfo
}

// readDescriptions returns the descriptions in a plugin directory, by name. A file that is missing or cannot be trusted is an empty one.
func (h *Host) readDescriptions(dir string) map[string]told {
	if !h.opts.descriptions || h.opts.checksums != nil {
		return nil
	}
	all, err := readDescriptions(filepath.Join(dir, DescriptionsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.log.Warn("the descriptions of runtimes are not used", "error", err)
	}
	return all
}

func readDescriptions(path string) (map[string]told, error) {
	real, err := binary.CheckData(path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(real)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxDescriptions+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxDescriptions {
		return nil, fmt.Errorf("%s has more than %d bytes", real, maxDescriptions)
	}
	all := make(map[string]told)
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		name, one, err := readDescription(line)
		if _, twice := all[name]; twice && err == nil {
			err = fmt.Errorf("it describes %s again", name)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of %s: %w", number, real, err)
		}
		all[name] = one
	}
	return all, nil
}

func readDescription(line string) (name string, one told, err error) {
	words := strings.Fields(line)
	if len(words) != 3 {
		return "", told{}, fmt.Errorf("it has %d words; a checksum, a name and a description are expected", len(words))
	}
	sum, name := words[0], words[1]
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size || !binary.ValidName(name) {
		return "", told{}, errors.New("it begins with no SHA-256 and name of a runtime")
	}
	data, err := base64.StdEncoding.DecodeString(words[2])
	if err != nil {
		return "", told{}, fmt.Errorf("reading the description: %w", err)
	}
	var message proto.DescribeResponse
	if err := pb.Unmarshal(data, &message); err != nil {
		return "", told{}, fmt.Errorf("reading the description: %w", err)
	}
	info := infoFromWire(&message)
	return name, told{strings.ToLower(sum), info}, validateInfo(info)
}

// isTold returns the description of the binary by the file, or nil where the binary is another one or could not be started.
func (r *installed) isTold(told told) *yurt.RuntimeInfo {
	file, err := os.Open(r.path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || binary.Identify(info) != r.id || r.host.opts.confinement != nil && binary.CheckForOthers(file) != nil {
		return nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil || hex.EncodeToString(hash.Sum(nil)) != told.sum {
		return nil
	}
	return &told.info
}
