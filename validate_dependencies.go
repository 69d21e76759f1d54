package yurt

import "strings"

// Bounds of the dependencies of an execution.
const (
	MaxDependencies    = 256
	MaxDependencyBytes = 1024 // of one
)

func (s *ExecutionSpec) validateDependencies() error {
	switch {
	case len(s.Dependencies) == 0:
		return nil
	case s.Kind == KindCommand:
		return FieldErrorf(CodeInvalidArgument, "dependencies", "only code in a language and Lambda functions have dependencies; a command brings its own, or takes what its template has")
	case s.Language == "":
		return FieldErrorf(CodeInvalidArgument, "language", "say of which language the dependencies are packages")
	}
	return ValidateDependencies("dependencies", s.Dependencies)
}

// ValidateDependencies checks a list of packages. The package manager judges their names, but a
// name may not begin with a dash: that would be an option.
func ValidateDependencies(field string, list []string) error {
	if len(list) > MaxDependencies {
		return FieldErrorf(CodeLimitOutOfRange, field, "%d packages are too many; at most %d are allowed", len(list), MaxDependencies)
	}
	for _, dependency := range list {
		if err := validateText(field, dependency, MaxDependencyBytes); err != nil {
			return err
		}
		if clean := strings.TrimSpace(dependency); clean == "" || clean != dependency || clean[0] == '-' {
			return FieldErrorf(CodeInvalidArgument, field, "%.100q is no package: it is empty, begins with a dash, or has spaces around it; write it as its package manager does, such as numpy==2.1.0", dependency)
		}
	}
	return nil
}
