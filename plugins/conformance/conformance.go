package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
)

// Target is a runtime under test, with a sandbox that has its toolchain and one that
// lacks it.
type Target struct {
	Language string
	Samples  Samples
	// Execute runs spec in the sandbox and returns its result. Errors are those of the request,
	// such as the ones that a node's StartExecution returns.
	Execute func(ctx context.Context, spec yurt.ExecutionSpec) (*yurt.Result, error)
	// ExecuteBare does so in a sandbox of the language without any toolchain.
	ExecuteBare func(ctx context.Context, spec yurt.ExecutionSpec) (*yurt.Result, error)
	// Patience is how long one program may take that is expected to end; zero means
	// two minutes. It is for slow compilers on slow machines, and is no measure.
	Patience time.Duration
}

// Case is one thing that a runtime must do right.
type Case struct {
	Name  string
	check func(ctx context.Context, t *Target) error
}

// Check runs the case and returns its failure. Cases may run at the same time.
func (c Case) Check(ctx context.Context, t *Target) error { return c.check(ctx, t) }

// Cases are all there are.
func Cases() []Case {
	return append([]Case{
		{"snippet", func(ctx context.Context, t *Target) error { return t.prints(ctx, t.code("snippet"), "hello\n") }},
		{"unicode", func(ctx context.Context, t *Target) error { return t.prints(ctx, t.code("unicode"), "grüße 🏕\n") }},
		{"arguments", checkArguments},
		{"stdin", checkStdin},
		{"project", checkProject},
		{"project without upload", checkEntryThatIsThere},
		{"entry that is not there", checkMissingEntry},
		{"exit code", checkExitCode},
		{"compile error", checkCompileError},
		{"run-time error", checkRuntimeError},
		{"NUL byte", checkNUL},
		{"10 MiB of code", checkTooLarge},
		{"endless output", checkEndlessOutput},
		{"endless recursion", checkRecursion},
		{"timeout", checkTimeout},
		{"missing toolchain", checkMissingToolchain},
	}, contextCases()...)
}

const defaultPatience = 2 * time.Minute

// neverEnds is an execution of a sample that has to be ended. It has a while to begin in: the time
// that the least program takes here and now, three times over. The sample keeps a processor busy until its timeout.
func (t *Target) neverEnds(ctx context.Context, name string, change ...func(*yurt.ExecutionSpec)) (*yurt.Result, error) {
	began := time.Now()
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	spec := t.code(name)
	spec.OutputLimit = 64 << 10
	spec.Timeout = yurt.Duration(time.Second + 3*time.Since(began))
	for _, c := range change {
		c(&spec)
	}
	return t.Execute(ctx, spec)
}

// code is an execution of the sample of that name.
func (t *Target) code(name string) yurt.ExecutionSpec {
	patience := t.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	return yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCode, Language: t.Language, Code: t.Samples.programs[name],
		Timeout: yurt.Duration(patience), OutputLimit: yurt.DefaultOutputLimit,
	}
}

// project is an execution of the sample project, whose files are put into a directory
// of that name.
func (t *Target) project(dir string) yurt.ExecutionSpec {
	spec := t.code("snippet")
	spec.Code, spec.Entry, spec.Files = "", t.Samples.entry, t.Samples.project
	spec.Cwd = yurt.WorkspaceDir + "/" + dir
	return spec
}

// prints runs spec, which must succeed and print just that to standard output.
func (t *Target) prints(ctx context.Context, spec yurt.ExecutionSpec, want string) error {
	r, err := t.Execute(ctx, spec)
	if err != nil {
		return err
	}
	if r.Error != nil || r.ExitCode != 0 || r.Stdout != want {
		return fmt.Errorf("it must print %q and succeed: %s", want, show(r))
	}
	return nil
}

func checkArguments(ctx context.Context, t *Target) error {
	spec := t.code("arguments")
	spec.Args = []string{"one", "two words", "", "-x", "ü", `"'$\`}
	return t.prints(ctx, spec, strings.Join(spec.Args, "\n")+"\n")
}

func checkStdin(ctx context.Context, t *Target) error {
	spec := t.code("stdin")
	spec.Stdin = []byte("one\ntwo\n")
	return t.prints(ctx, spec, "ONE\nTWO\n")
}

func checkProject(ctx context.Context, t *Target) error {
	spec := t.project("project")
	spec.Args = []string{"one", "two words"}
	return t.prints(ctx, spec, "lib: one\nlib: two words\n")
}

// checkEntryThatIsThere runs a project whose files came with an earlier execution. Only
// a language whose compiler finds the files by itself can know of them all.
func checkEntryThatIsThere(ctx context.Context, t *Target) error {
	first := t.project("uploaded")
	if err := t.prints(ctx, first, ""); err != nil {
		return err
	}
	spec := t.project("uploaded")
	spec.Files = nil
	r, err := t.Execute(ctx, spec)
	if err != nil {
		return err
	}
	if r.Error != nil && r.Error.Type != yurt.ErrorTypeCompile {
		return fmt.Errorf("it must succeed, or lack what the compiler was not given: %s", show(r))
	}
	return nil
}

func checkMissingEntry(ctx context.Context, t *Target) error {
	spec := t.code("snippet")
	spec.Code, spec.Entry = "", "none/"+t.Samples.entry
	r, err := t.Execute(ctx, spec)
	return refused(r, err, yurt.CodeFileNotFound)
}

func checkExitCode(ctx context.Context, t *Target) error {
	r, err := t.Execute(ctx, t.code("exit"))
	if err != nil {
		return err
	}
	if r.ExitCode != 7 || r.Stdout != "before\n" || r.Error != nil {
		return fmt.Errorf("it must print \"before\" and exit with 7, which is no error: %s", show(r))
	}
	return t.usable(ctx)
}

func checkCompileError(ctx context.Context, t *Target) error {
	r, err := t.Execute(ctx, t.code("compile-error"))
	if err != nil {
		return err
	}
	switch {
	case r.Error == nil || r.ExitCode == 0 || !isCompileError(r.Error):
		return fmt.Errorf("it must fail with a %s or a %s: %s", yurt.ErrorTypeCompile, yurt.ErrorTypeSyntax, show(r))
	case r.Stdout != "":
		return fmt.Errorf("nothing of it may run: %s", show(r))
	case !names(r.Error, "3"):
		return fmt.Errorf("the stack trace must name line 3: %s", show(r))
	}
	return t.usable(ctx)
}

func checkRuntimeError(ctx context.Context, t *Target) error {
	r, err := t.Execute(ctx, t.code("runtime-error"))
	if err != nil {
		return err
	}
	switch {
	case r.Error == nil || r.ExitCode == 0 || isCompileError(r.Error):
		return fmt.Errorf("it must fail with an error that is none of the compiler: %s", show(r))
	case r.Stdout != "before\n":
		return fmt.Errorf("it must print \"before\" first: %s", show(r))
	case !strings.Contains(r.Error.Message, "boom"):
		return fmt.Errorf("the message must hold \"boom\": %s", show(r))
	case !names(r.Error, "3"):
		return fmt.Errorf("the stack trace must name line 3: %s", show(r))
	}
	return t.usable(ctx)
}

func isCompileError(err *yurt.ExecutionError) bool {
	return err.Type == yurt.ErrorTypeCompile || err.Type == yurt.ErrorTypeSyntax
}

// names reports whether a line of the stack trace gives the number of a line, as
// "main.c:3" or "line 3".
func names(err *yurt.ExecutionError, line string) bool {
	for _, frame := range err.Stacktrace {
		for _, before := range []string{":", "line ", "("} {
			if _, after, ok := strings.Cut(frame, before+line); ok && !strings.ContainsAny(after[:min(1, len(after))], "0123456789") {
				return true
			}
		}
	}
	return false
}

// checkNUL adds a NUL byte to a program. The outcome is up to the language.
func checkNUL(ctx context.Context, t *Target) error {
	spec := t.code("snippet")
	spec.Code += "\x00"
	if _, err := t.Execute(ctx, spec); err != nil && yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		return fmt.Errorf("a NUL byte must be the program's error or that of the request: %w", err)
	}
	return t.usable(ctx)
}

func checkTooLarge(ctx context.Context, t *Target) error {
	spec := t.code("snippet")
	spec.Code += strings.Repeat("\n", 10<<20)
	r, err := t.Execute(ctx, spec)
	return refused(r, err, yurt.CodeLimitOutOfRange)
}

func checkEndlessOutput(ctx context.Context, t *Target) error {
	r, err := t.neverEnds(ctx, "output")
	if err != nil {
		return err
	}
	if r.Error == nil || r.Error.Type != yurt.ErrorTypeTimeout || !r.Truncated.Stdout || len(r.Stdout) > 64<<10 {
		return fmt.Errorf("it must run into its timeout with its output cut: %s", show(r))
	}
	return t.usable(ctx)
}

// checkRecursion has a program exhaust its stack, or its memory. Some languages make a
// loop of it.
func checkRecursion(ctx context.Context, t *Target) error {
	r, err := t.neverEnds(ctx, "recursion")
	if err != nil {
		return err
	}
	if r.ExitCode == 0 || r.Error == nil {
		return fmt.Errorf("it must fail: %s", show(r))
	}
	return t.usable(ctx)
}

func checkTimeout(ctx context.Context, t *Target) error {
	r, err := t.neverEnds(ctx, "endless")
	if err != nil {
		return err
	}
	if r.Error == nil || r.Error.Type != yurt.ErrorTypeTimeout || r.Stdout != "begun\n" {
		return fmt.Errorf("it must run into its timeout, and what it printed be kept: %s", show(r))
	}
	return t.usable(ctx)
}

func checkMissingToolchain(ctx context.Context, t *Target) error {
	if t.ExecuteBare == nil {
		return errors.New("there is no sandbox without the toolchain to try it in")
	}
	r, err := t.ExecuteBare(ctx, t.code("snippet"))
	if err := refused(r, err, yurt.CodeLanguageNotSupported); err != nil {
		return err
	}
	if !strings.Contains(err.Error(), "install") {
		return fmt.Errorf("the error must say what to install: %w", err)
	}
	return nil
}

// usable checks that the sandbox still works.
func (t *Target) usable(ctx context.Context) error {
	if err := t.prints(ctx, t.code("snippet"), "hello\n"); err != nil {
		return fmt.Errorf("the session does not work: %w", err)
	}
	return nil
}

func refused(r *yurt.Result, err error, want yurt.Code) error {
	switch {
	case err == nil:
		return fmt.Errorf("it must be refused with %s: %s", want, show(r))
	case yurt.CodeOf(err) != want:
		return fmt.Errorf("it must be refused with %s: %w", want, err)
	}
	return nil
}

// show puts the important parts of a result into one line.
func show(r *yurt.Result) string {
	text := fmt.Sprintf("exit code %d, stdout %.200q, stderr %.500q", r.ExitCode, r.Stdout, r.Stderr)
	if r.Error != nil {
		text += fmt.Sprintf(", error %s: %.300q at %.300q", r.Error.Type, r.Error.Message, r.Error.Stacktrace)
	}
	return text
}
