package pkgsocket

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The package managers that the node runs for a command of a session.
const (
	Pip = "pip"
	Npm = "npm"
)

// Bounds of a request and of an answer, in bytes, and of the packages in a request.
const (
	MaxRequest  = 1 << 20
	MaxAnswer   = 64 << 10
	maxPackages = 256
	maxPackage  = 512
)

// The files that a request may bring: the manifest of a project for npm.
const (
	ManifestFile = "package.json"
	LockFile     = "package-lock.json"
)

// Request asks for packages. It is one line of JSON.
type Request struct {
	Manager  string   `json:"manager"`
	Packages []string `json:"packages,omitempty"` // as the package manager writes them
	Upgrade  bool     `json:"upgrade,omitempty"`  // also packages that the session has already
	Quiet    bool     `json:"quiet,omitempty"`    // the command prints no progress
	// Manifest and Lock are the files of a project, for npm without packages.
	Manifest []byte `json:"manifest,omitempty"`
	Lock     []byte `json:"lock,omitempty"`
}

// Answer is one line of JSON: a piece of text, or with Done set the end.
type Answer struct {
	Text  string `json:"text,omitempty"`
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"` // of the end; "" for success
	// Installed has the packages that were asked for, by their names, with their versions.
	Installed []Package `json:"installed,omitempty"`
	Replaced  []Package `json:"replaced,omitempty"` // that the session had in another version
	Present   bool      `json:"present,omitempty"`  // all were there before
}

// Package is a package of a registry.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// The characters of a version, a range or a marker. An address, a path and an option need others.
const (
	letters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	pipChars   = letters + "._-[]()<>=!~,*+;'\" "
	npmChars   = letters + ".*^~<>=|+- "
	pipAfter   = "[(<>=!~; " // characters that may follow a name
	namedChars = letters + "._-"
)

// isPip reports whether pip takes the text for a package of a registry: a name, and perhaps
// extras, versions and a marker.
func isPip(text string) bool {
	if !consists(text[:1], letters) || strings.Trim(text, " ") != text {
		return false
	}
	rest := strings.TrimLeft(text, namedChars)
	return consists(text, pipChars) && (rest == "" || strings.ContainsAny(rest[:1], pipAfter))
}

// isNpm reports whether npm takes the text for a package of a registry: a scope, a name, and
// perhaps a version, a range or a tag.
func isNpm(text string) bool {
	if scope, name, scoped := strings.Cut(text, "/"); scoped {
		if !strings.HasPrefix(scope, "@") || len(scope) < 2 || !consists(scope[1:], namedChars+"~") {
			return false
		}
		text = name
	}
	name, version, has := strings.Cut(text, "@")
	return name != "" && strings.ContainsAny(name[:1], letters+"~-") && consists(name, namedChars+"~") &&
		(!has || version != "" && consists(version, npmChars))
}

// consists reports whether the text has no characters but these.
func consists(text, of string) bool {
	for i := range len(text) {
		if strings.IndexByte(of, text[i]) < 0 {
			return false
		}
	}
	return true
}

// Check returns an error that says which part of the request is not allowed.
func (r Request) Check() error {
	form, example := isPip, "numpy, numpy==2.1.0 or \"pandas>=2,<3\""
	switch r.Manager {
	case Pip:
		if len(r.Manifest) > 0 || len(r.Lock) > 0 {
			return errors.New("a request for pip brings no files")
		}
	case Npm:
		form, example = isNpm, "lodash, lodash@4 or @types/node@22"
	default:
		return fmt.Errorf("the package manager %.40q is not known; pip and npm are", r.Manager)
	}
	if len(r.Packages) > maxPackages {
		return fmt.Errorf("%d packages are too many for one installation; at most %d are allowed", len(r.Packages), maxPackages)
	}
	if len(r.Packages) == 0 && len(r.Manifest) == 0 {
		return errors.New("the request names no packages")
	}
	for _, p := range r.Packages {
		if p == "" || len(p) > maxPackage || p[0] == '-' || !form(p) {
			return fmt.Errorf("%.100q is not a package of the registry: a session installs no addresses, paths or archives; write it like %s", p, example)
		}
	}
	return nil
}

// ReadRequest reads a request and checks it.
func ReadRequest(from io.Reader) (Request, error) {
	line, err := readLine(bufio.NewReader(from), MaxRequest)
	if err != nil {
		return Request{}, err
	}
	var r Request
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return Request{}, fmt.Errorf("the request is malformed: %w", err)
	}
	return r, r.Check()
}

// Encode returns a request or an answer as a line.
func Encode(message any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(message)
	return line.Bytes(), err
}

// Answers reads the answers of the node.
type Answers struct{ from *bufio.Reader }

// NewAnswers returns the answers that come from a connection.
func NewAnswers(from io.Reader) *Answers { return &Answers{bufio.NewReader(from)} }

// Next returns the next answer.
func (a *Answers) Next() (answer Answer, err error) {
	line, err := readLine(a.from, MaxAnswer)
	if err == nil {
		err = json.Unmarshal(line, &answer)
	}
	return answer, err
}

// readLine reads a line of so many bytes at most.
func readLine(from *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		piece, err := from.ReadSlice('\n')
		if len(line)+len(piece) > limit {
			return nil, fmt.Errorf("a message has more than %d bytes", limit)
		}
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
