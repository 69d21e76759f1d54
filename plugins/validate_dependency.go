package plugins

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/text"
)

// Bounds of requirements and of the input of a layer's digest.
const (
	MaxRequirements     = 256
	MaxRequirementBytes = 1024
	maxInputs           = 1024
)

// Validate checks everything that the sandbox relies on, as [Plan.Validate] does.
func (p DependencyPlan) Validate() error {
	if p.Empty() {
		return nil
	}
	if err := errors.Join(validateArgv(p.Argv), validateEnv(p.Env), validateEnv(p.RunEnv), validateFiles(p.Files)); err != nil {
		return err
	}
	if !fs.ValidPath(p.LayerDir) || !text.Printable(p.LayerDir) || len(p.LayerDir) > yurt.MaxPathBytes {
		return fmt.Errorf("layer directory %s is not a clean relative path", text.Quote(p.LayerDir))
	}
	if len(p.Inputs) == 0 || len(p.Inputs) > maxInputs {
		return fmt.Errorf("plan has %d inputs; 1 to %d are allowed", len(p.Inputs), maxInputs)
	}
	return nil
}

// Validate checks the parts that the host itself relies on.
func (req DependencyRequest) Validate() error {
	if len(req.Requirements) > MaxRequirements {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "dependencies", "%d requirements are too many; at most %d are allowed", len(req.Requirements), MaxRequirements)
	}
	for _, requirement := range req.Requirements {
		if requirement == "" || len(requirement) > MaxRequirementBytes || !text.Printable(requirement) {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "dependencies", "%s is empty, longer than %d bytes, or holds control characters", text.Quote(requirement), MaxRequirementBytes)
		}
	}
	if err := validateFiles(req.Files); err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "dependencies", "%w", err)
	}
	if !text.Printable(req.Language + req.Dir + req.Mount) {
		return yurt.Errorf(yurt.CodeInternal, "the request to the runtime contains control characters")
	}
	return nil
}
