//go:build long

package sdk

import (
	"path/filepath"
	"testing"
)

func TestPythonScenariosLong(t *testing.T) {
	Scenarios(t, true, installed(t), filepath.Join(python(t), "tests", "scenarios.py"))
}
