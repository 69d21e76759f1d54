package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
	"github.com/yurtrun/yurt/plugins/internal/text"
)

// Bounds of a [Plan].
const (
	MaxPlanFiles    = 256
	MaxPlanBytes    = protocol.MaxPlanBytes // of all files together
	MaxCompileSteps = 16
)

// Validate checks everything that the sandbox relies on. Plans come from another
// process, so the host checks each one before it hands it on.
func (p Plan) Validate() error {
	for _, check := range []func() error{
		func() error { return validateArgv(p.Argv) },
		func() error { return validateEnv(p.Env) },
		func() error { return validateFiles(p.Files) },
		p.validateCompile,
		p.Inserted.validate,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if p.Result != ResultNone && p.Result != ResultEnvelope {
		return fmt.Errorf("result format %s is unknown", text.Quote(string(p.Result)))
	}
	return nil
}

// maxInsertion bounds the text of an insertion and the name of its file, in bytes.
const maxInsertion = 4 << 10

func (i *Insertion) validate() error {
	if i == nil {
		return nil
	}
	if i.File == "" || i.Text == "" || len(i.File) > maxInsertion || len(i.Text) > maxInsertion || strings.Contains(i.File+i.Text, "\n") || i.Line < 1 || i.Column < 1 {
		return fmt.Errorf("inserted text %s into file %s at %d:%d: it needs a file, a line and a column from 1, and one line of at most %d bytes", text.Quote(i.Text), text.Quote(i.File), i.Line, i.Column, maxInsertion)
	}
	return nil
}

func (p Plan) validateCompile() error {
	if len(p.Compile) > MaxCompileSteps {
		return fmt.Errorf("plan has %d compile steps; at most %d are allowed", len(p.Compile), MaxCompileSteps)
	}
	for i, step := range p.Compile {
		if err := errors.Join(validateArgv(step.Argv), validateEnv(step.Env)); err != nil {
			return fmt.Errorf("compile step %d: %w", i, err)
		}
		if step.Timeout < 0 {
			return fmt.Errorf("compile step %d: its timeout is negative", i)
		}
	}
	return nil
}

func validateArgv(argv []string) error {
	if len(argv) == 0 {
		return errors.New("argv is empty")
	}
	if len(argv) > yurt.MaxArgs {
		return fmt.Errorf("argv has %d entries; at most %d are allowed", len(argv), yurt.MaxArgs)
	}
	for i, arg := range argv {
		if len(arg) > yurt.MaxArgBytes {
			return fmt.Errorf("argv[%d] has %d bytes; at most %d are allowed", i, len(arg), yurt.MaxArgBytes)
		}
		if !plainText(arg) {
			return fmt.Errorf("argv[%d] contains a NUL character or is not UTF-8", i)
		}
	}
	return validateCommand(argv[0])
}

// validateCommand allows an absolute path and a bare name, which is looked up in PATH. A relative
// path would depend on the user's working directory.
func validateCommand(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("argv[0] %s names no command", text.Quote(name))
	case len(name) > yurt.MaxPathBytes:
		return fmt.Errorf("argv[0] has %d bytes; at most %d are allowed", len(name), yurt.MaxPathBytes)
	case !text.Printable(name):
		return fmt.Errorf("argv[0] %s contains control characters or is not UTF-8", text.Quote(name))
	case strings.Contains(name, "/") && (!path.IsAbs(name) || path.Clean(name) != name):
		return fmt.Errorf("argv[0] %s is neither a clean absolute path nor a bare name", text.Quote(name))
	}
	return nil
}

func validateEnv(env map[string]string) error {
	if len(env) > yurt.MaxEnvCount {
		return fmt.Errorf("env has %d entries; at most %d are allowed", len(env), yurt.MaxEnvCount)
	}
	total := 0
	for name, value := range env {
		total += len(name) + len(value)
		if !validEnvName(name) {
			return fmt.Errorf("env name %s is not made of letters, digits and underscores", text.Quote(name))
		}
		if !plainText(value) {
			return fmt.Errorf("env %s contains a NUL character or is not UTF-8", name)
		}
	}
	if total > yurt.MaxEnvBytes {
		return fmt.Errorf("env has %d bytes; at most %d are allowed", total, yurt.MaxEnvBytes)
	}
	return nil
}

func validEnvName(name string) bool {
	for i, r := range name {
		letter := r == '_' || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
		digit := r >= '0' && r <= '9'
		if !letter && (!digit || i == 0) {
			return false
		}
	}
	return name != ""
}

func validateFiles(files []File) error {
	if len(files) > MaxPlanFiles {
		return fmt.Errorf("plan has %d files; at most %d are allowed", len(files), MaxPlanFiles)
	}
	total := 0
	paths := make([]string, 0, len(files))
	for _, f := range files {
		total += len(f.Data)
		if total > MaxPlanBytes {
			return fmt.Errorf("files have more than %d bytes together", MaxPlanBytes)
		}
		if err := f.validate(); err != nil {
			return err
		}
		paths = append(paths, f.Path)
	}
	return validateTree(paths)
}

func (f File) validate() error {
	switch {
	case len(f.Path) > yurt.MaxPathBytes:
		return fmt.Errorf("a file's path has %d bytes; at most %d are allowed", len(f.Path), yurt.MaxPathBytes)
	case !fs.ValidPath(f.Path) || f.Path == ".":
		return fmt.Errorf("file path %s is not a clean relative path", text.Quote(f.Path))
	case !text.Printable(f.Path):
		return fmt.Errorf("file path %s contains control characters or is not UTF-8", text.Quote(f.Path))
	case f.Mode&^fs.ModePerm != 0:
		return fmt.Errorf("file %s has mode %#o; only permission bits are allowed", text.Quote(f.Path), uint32(f.Mode))
	}
	for part := range strings.SplitSeq(f.Path, "/") {
		if len(part) > 255 {
			return fmt.Errorf("file path %s has a name longer than 255 bytes", text.Quote(f.Path))
		}
	}
	return nil
}

// validateTree refuses a path that is given twice, or both as a file and as a directory. With "/"
// read as the lowest byte, a directory sorts right before its entries.
func validateTree(paths []string) error {
	for i := range paths {
		paths[i] = strings.ReplaceAll(paths[i], "/", "\x00")
	}
	slices.Sort(paths)
	for i := 1; i < len(paths); i++ {
		rest, inside := strings.CutPrefix(paths[i], paths[i-1])
		if !inside {
			continue
		}
		name := text.Quote(strings.ReplaceAll(paths[i-1], "\x00", "/"))
		if rest == "" {
			return fmt.Errorf("file path %s is given twice", name)
		}
		if rest[0] == 0 {
			return fmt.Errorf("file path %s is also a directory of the plan", name)
		}
	}
	return nil
}

// Validate checks the parts that the host itself relies on. The rest is up to the runtime.
func (req PlanRequest) Validate() error {
	for _, part := range []struct {
		field     string
		size, max int
	}{
		{"code", len(req.Code), yurt.MaxCodeBytes},
		{"event", len(req.Event), yurt.MaxEventBytes},
		{"context", len(req.Context), yurt.MaxEventBytes},
		{"handler", len(req.Handler), yurt.MaxPathBytes},
	} {
		if part.size > part.max {
			return yurt.FieldErrorf(yurt.CodeBodyTooLarge, part.field, "%s has %d bytes; at most %d are allowed", part.field, part.size, part.max)
		}
	}
	if err := req.validateProject(); err != nil {
		return err
	}
	if !text.Printable(req.Handler) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "handler", "%s is not the name of a function: it contains control characters or is not UTF-8", text.Quote(req.Handler))
	}
	if !text.Printable(req.ExecutionID + req.Dir + req.Root + req.OutDir + req.CacheDir + req.Layer + string(req.Kind)) {
		return yurt.Errorf(yurt.CodeInternal, "the request to the runtime contains control characters")
	}
	return nil
}

func (req PlanRequest) validateProject() error {
	if err := validateFiles(req.Files); err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "files", "%w", err)
	}
	if req.Entry != "" {
		if err := (File{Path: req.Entry}).validate(); err != nil {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "entry", "%w", err)
		}
	}
	if len(req.Args) > 0 {
		if err := validateArgv(append([]string{"program"}, req.Args...)); err != nil {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "args", "%w", err)
		}
	}
	return nil
}

func plainText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}
