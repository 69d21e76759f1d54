package yurt

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of names and of metadata that a user may give.
const (
	MaxNameBytes          = 256 // agent ids, handler and language names
	MaxMetadataKeyBytes   = 128
	MaxMetadataValueBytes = 4096
	MaxOutputLimit        = 64 << 20 // largest cap that one stream of an execution can have
)

// Validate checks a complete specification: every field within its bounds, and
// exactly the fields set that its kind uses. Errors name the field as the API does.
// Whether a language exists is for the node to say.
func (s *ExecutionSpec) Validate() error {
	checks := []func() error{
		s.validateKind,
		s.validateBounds,
		func() error { return ValidateEnv("env", s.Env) },
		s.validateCwd,
		s.validateStdin,
		s.validateFiles,
		s.validateTerminal,
		s.validateContextName,
		s.validateDependencies,
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// validateBounds checks the timeout and the limit of output, and the fields that replace them.
func (s *ExecutionSpec) validateBounds() error {
	if err := s.User.Validate("user"); err != nil {
		return err
	}
	if s.Logs != nil && !s.Endless {
		return FieldErrorf(CodeInvalidArgument, "logs", "only an execution that is endless writes to log files")
	}
	switch {
	case s.Streamed:
		return s.validateStreamed()
	case s.Endless:
		return s.validateEndless()
	}
	if err := validateExecutionTimeout("timeout", s.Timeout); err != nil {
		return err
	}
	return s.validateOutputLimit()
}

// without says which field is set that an execution of that kind cannot have.
func without(kind string, fields map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name] {
			return FieldErrorf(CodeInvalidArgument, name, "an execution that is %[1]s cannot have it; leave it out, or %[1]s", kind)
		}
	}
	return nil
}

func (s *ExecutionSpec) validateEndless() error {
	err := without("endless", map[string]bool{
		"timeout": s.Timeout != 0, "output_limit": s.OutputLimit != 0, "tty": s.Terminal != nil,
		"context_name": s.ContextName != "", "kind": s.Kind == KindHandler,
	})
	if err != nil {
		return err
	}
	return s.Logs.Validate("logs")
}

func (s *ExecutionSpec) validateStreamed() error {
	return without("streamed", map[string]bool{
		"timeout": s.Timeout != 0, "output_limit": s.OutputLimit != 0, "endless": s.Endless,
		"kind": s.Kind != KindCommand, "dependencies": len(s.Dependencies) > 0, "files": len(s.Files) > 0,
	})
}

// NeedsNode reports whether the specification uses fields that only callers on the node itself may
// set.
func (s *ExecutionSpec) NeedsNode() bool {
	return s.Endless || s.Streamed || s.Logs != nil || s.User != nil
}

func (s *ExecutionSpec) validateKind() error {
	switch s.Kind {
	case KindCommand:
		return s.validateCommand()
	case KindCode:
		if s.Handler != "" {
			if err := ValidateName("handler", s.Handler); err != nil {
				return err
			}
		}
		return s.validateSource()
	case KindHandler:
		if len(s.Command) > 0 {
			return s.validateFunction()
		}
		if err := s.validateSource(); err != nil {
			return err
		}
		return s.validateHandler()
	default:
		return FieldErrorf(CodeInvalidArgument, "kind", "give \"code\", \"command\" or \"handler\"")
	}
}

func (s *ExecutionSpec) validateContextName() error {
	switch {
	case s.ContextName == "":
		return nil
	case s.Kind != KindCode:
		return FieldErrorf(CodeInvalidArgument, "context", "only code runs in a context; leave it out")
	case s.Entry != "" || len(s.Args) > 0 || s.StdinOpen || s.Terminal != nil:
		return FieldErrorf(CodeInvalidArgument, "context", "a project, and code with arguments, an open stdin or a terminal, has an interpreter of its own; leave the context out")
	default:
		return ValidateContextName("context", s.ContextName)
	}
}

// ValidateContextName checks the name of a context: letters, digits and "._-", at
// most 64 of them.
func ValidateContextName(field, name string) error {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, odd) || strings.Trim(name, ".") == "" {
		return FieldErrorf(CodeInvalidArgument, field, "the name of a context is made of 1 to 64 letters, digits, dots, dashes and underscores")
	}
	return nil
}

func (s *ExecutionSpec) validateSource() error {
	switch {
	case s.Entry != "" && s.Code != "":
		return FieldErrorf(CodeInvalidArgument, "entry", "give either code or the entry of a project, not both")
	case s.Entry != "":
		if err := validateProjectPath("entry", s.Entry); err != nil {
			return err
		}
	case s.Code == "":
		return FieldErrorf(CodeInvalidArgument, "code", "there is no code to run; give the source text, or files and the entry among them")
	case len(s.Code) > MaxCodeBytes:
		return FieldErrorf(CodeLimitOutOfRange, "code", "%d bytes are too many; at most %d are allowed, put more into files", len(s.Code), MaxCodeBytes)
	case !utf8.ValidString(s.Code):
		return FieldErrorf(CodeInvalidArgument, "code", "the source text is not valid UTF-8")
	case len(s.Command) > 0:
		return FieldErrorf(CodeInvalidArgument, "command", "give either code or a command, not both")
	}
	if err := validateArgs("args", s.Args); err != nil {
		return err
	}
	return ValidateName("language", s.Language)
}

func (s *ExecutionSpec) validateHandler() error {
	if err := ValidateName("handler", s.Handler); err != nil {
		return err
	}
	switch {
	case len(s.Event) > MaxEventBytes:
		return FieldErrorf(CodeLimitOutOfRange, "event", "%d bytes are too many; at most %d are allowed, put more into files", len(s.Event), MaxEventBytes)
	case len(s.Event) > 0 && !json.Valid(s.Event):
		return FieldErrorf(CodeInvalidArgument, "event", "the event is not JSON")
	case len(s.Context) > MaxEventBytes:
		return FieldErrorf(CodeLimitOutOfRange, "context", "%d bytes are too many; at most %d are allowed", len(s.Context), MaxEventBytes)
	case len(s.Context) > 0 && !isJSONObject(s.Context):
		return FieldErrorf(CodeInvalidArgument, "context", "the context must be a JSON object")
	}
	return nil
}

// validateFunction checks a handler that a program of its own serves, which asks the Lambda
// Runtime API for its invocations.
func (s *ExecutionSpec) validateFunction() error {
	if s.StdinOpen || s.Terminal != nil || len(s.Stdin) > 0 {
		return FieldErrorf(CodeInvalidArgument, "stdin", "a function that serves several invocations has neither stdin nor a terminal; pass data in the event")
	}
	if s.Code != "" {
		return FieldErrorf(CodeInvalidArgument, "command", "give either code or a command, not both")
	}
	if err := s.validateCommand(); err != nil {
		return err
	}
	return s.validateHandler()
}

func isJSONObject(data []byte) bool {
	return json.Valid(data) && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte{'{'})
}

func (s *ExecutionSpec) validateCommand() error {
	switch {
	case s.Code != "":
		return FieldErrorf(CodeInvalidArgument, "code", "give either code or a command, not both")
	case len(s.Command) == 0 || s.Command[0] == "":
		return FieldErrorf(CodeInvalidArgument, "command", "the command is empty; give a program and its arguments, or a shell line")
	case s.Entry != "":
		return FieldErrorf(CodeInvalidArgument, "entry", "give either a command or the entry of a project, not both")
	case len(s.Args) > 0:
		return FieldErrorf(CodeInvalidArgument, "args", "a command's arguments belong in command")
	}
	return validateArgs("command", s.Command)
}

func validateArgs(field string, args []string) error {
	if len(args) > MaxArgs {
		return FieldErrorf(CodeLimitOutOfRange, field, "%d arguments are too many; at most %d are allowed", len(args), MaxArgs)
	}
	total := 0
	for i, arg := range args {
		if total += len(arg); total > MaxArgsBytes {
			return FieldErrorf(CodeLimitOutOfRange, field, "the arguments up to number %d have %d bytes together; at most %d are allowed, pass more through stdin or a file", i, total, MaxArgsBytes)
		}
		if len(arg) >= MaxArgBytes {
			return FieldErrorf(CodeLimitOutOfRange, field, "argument %d has %d bytes; less than %d are allowed, pass more through stdin or a file", i, len(arg), MaxArgBytes)
		}
		if strings.ContainsRune(arg, 0) {
			return FieldErrorf(CodeInvalidArgument, field, "argument %d holds a NUL byte, which no program can receive", i)
		}
	}
	return nil
}

func validateExecutionTimeout(field string, timeout Duration) error {
	if timeout.Std() < MinExecutionTimeout || timeout.Std() > MaxExecutionTimeout {
		return FieldErrorf(CodeLimitOutOfRange, field, "%s is out of range; give %s to %s", timeout, Duration(MinExecutionTimeout), Duration(MaxExecutionTimeout))
	}
	return nil
}

func (s *ExecutionSpec) validateOutputLimit() error {
	if s.OutputLimit < 1 || s.OutputLimit > MaxOutputLimit {
		return FieldErrorf(CodeLimitOutOfRange, "output_limit", "%s is out of range; give 1 to %s", s.OutputLimit, Size(MaxOutputLimit))
	}
	return nil
}

func (s *ExecutionSpec) validateStdin() error {
	if len(s.Stdin) > MaxStdinBytes {
		return FieldErrorf(CodeLimitOutOfRange, "stdin", "%d bytes are too many; at most %d are allowed, put more into a file", len(s.Stdin), MaxStdinBytes)
	}
	return nil
}

func (s *ExecutionSpec) validateCwd() error {
	switch {
	case s.Cwd == "":
		return nil
	case !path.IsAbs(s.Cwd):
		return FieldErrorf(CodeInvalidPath, "cwd", "the working directory must be an absolute path such as %s", WorkspaceDir)
	default:
		return validatePathText("cwd", s.Cwd)
	}
}

// CleanWorkspacePath returns name, a path below [WorkspaceDir] or an absolute one that begins with
// it, as a clean path relative to the workspace. It refuses a path that is empty, too long or holds
// control characters ([CodeInvalidPath]), and one that leads out ([CodePathOutsideWorkspace]).
// Links are for the node to resolve.
func CleanWorkspacePath(field, name string) (string, error) {
	clean, err := CleanWorkspaceDir(field, name)
	if err == nil && clean == "." {
		return "", FieldErrorf(CodeNotAFile, field, "the path names the workspace itself; give the path of a file in it")
	}
	return clean, err
}

// CleanWorkspaceDir is [CleanWorkspacePath] where the workspace itself will do, which
// is returned as ".".
func CleanWorkspaceDir(field, name string) (string, error) {
	if err := validatePathText(field, name); err != nil {
		return "", err
	}
	if !path.IsAbs(name) {
		name = WorkspaceDir + "/" + name
	}
	clean := path.Clean(name)
	if clean == WorkspaceDir {
		return ".", nil
	}
	inside, ok := strings.CutPrefix(clean, WorkspaceDir+"/")
	if !ok {
		return "", FieldErrorf(CodePathOutsideWorkspace, field, "the path leads out of the workspace; give a path below %s", WorkspaceDir)
	}
	return inside, nil
}

func validatePathText(field, name string) error {
	switch {
	case name == "":
		return FieldErrorf(CodeInvalidPath, field, "the path is empty; name a file")
	case len(name) > MaxPathBytes:
		return FieldErrorf(CodeInvalidPath, field, "the path has %d bytes; at most %d are allowed", len(name), MaxPathBytes)
	case !utf8.ValidString(name):
		return FieldErrorf(CodeInvalidPath, field, "the path is not valid UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return FieldErrorf(CodeInvalidPath, field, "the path holds control characters, such as a line break; give a path of printable characters")
	}
	return nil
}

// ValidateName checks a short name that a user gave, such as an agent id: not
// empty, at most [MaxNameBytes], valid UTF-8 without control characters.
func ValidateName(field, name string) error {
	if name == "" {
		return FieldErrorf(CodeInvalidArgument, field, "the name is empty")
	}
	return validateText(field, name, MaxNameBytes)
}

func validateText(field, text string, limit int) error {
	switch {
	case len(text) > limit:
		return FieldErrorf(CodeInvalidArgument, field, "%d bytes are too long; at most %d are allowed", len(text), limit)
	case !utf8.ValidString(text):
		return FieldErrorf(CodeInvalidArgument, field, "the text is not valid UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		return FieldErrorf(CodeInvalidArgument, field, "the text holds control characters; use printable ones")
	}
	return nil
}

// ValidateEnv checks an environment. Errors never show a value: it may be a secret.
func ValidateEnv(field string, env map[string]string) error {
	if len(env) > MaxEnvCount {
		return FieldErrorf(CodeLimitOutOfRange, field, "%d variables are too many; at most %d are allowed", len(env), MaxEnvCount)
	}
	total := 0
	for name, value := range env {
		total += len(name) + len(value)
		if name == "" || len(name) > MaxNameBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, notEnvNameRune) {
			return FieldErrorf(CodeInvalidArgument, field, "a variable's name is empty, longer than %d bytes, or holds \"=\", a space or a control character", MaxNameBytes)
		}
		if strings.ContainsRune(value, 0) {
			return FieldErrorf(CodeInvalidArgument, field+"."+name, "the value holds a NUL byte, which no program can receive")
		}
	}
	if total > MaxEnvBytes {
		return FieldErrorf(CodeLimitOutOfRange, field, "names and values have %d bytes together; at most %d are allowed", total, MaxEnvBytes)
	}
	return nil
}

func notEnvNameRune(r rune) bool { return r == '=' || unicode.IsSpace(r) || unicode.IsControl(r) }

// ValidateMetadata checks the key-value pairs that a user attaches to a session.
func ValidateMetadata(field string, metadata map[string]string) error {
	if len(metadata) > MaxMetadata {
		return FieldErrorf(CodeLimitOutOfRange, field, "%d entries are too many; at most %d are allowed", len(metadata), MaxMetadata)
	}
	for key, value := range metadata {
		if key == "" || validateText(field, key, MaxMetadataKeyBytes) != nil {
			return FieldErrorf(CodeInvalidArgument, field, "a key is empty, longer than %d bytes, or holds control characters", MaxMetadataKeyBytes)
		}
		if err := validateText(field+"."+key, value, MaxMetadataValueBytes); err != nil {
			return err
		}
	}
	return nil
}

// ValidateSessionTimeouts checks the lifetime and the idle timeout of a session.
func ValidateSessionTimeouts(lifetime, idle Duration) error {
	check := func(field string, d Duration) error {
		if d.Std() < MinSessionTimeout || d.Std() > MaxSessionTimeout {
			return FieldErrorf(CodeLimitOutOfRange, field, "%s is out of range; give %s to %s", d, Duration(MinSessionTimeout), Duration(MaxSessionTimeout))
		}
		return nil
	}
	if err := check("timeout", lifetime); err != nil {
		return err
	}
	return check("idle_timeout", idle)
}
