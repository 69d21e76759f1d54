package yurt

// TerminalSize is the size of an execution's terminal, in characters.
type TerminalSize struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

const (
	// MaxTerminalSide bounds the rows and the columns of a terminal.
	MaxTerminalSide = 4096
	// DefaultTerminalRows is the height of a terminal whose request gives no rows.
	DefaultTerminalRows = 24
	// DefaultTerminalCols is the width of a terminal whose request gives no columns.
	DefaultTerminalCols = 80
)

// Or returns t with its zero fields taken from the defaults.
func (t TerminalSize) Or(fallback TerminalSize) TerminalSize {
	if t.Rows == 0 {
		t.Rows = fallback.Rows
	}
	if t.Cols == 0 {
		t.Cols = fallback.Cols
	}
	return t
}

// Validate checks that both sides are within bounds. field is the path that errors
// name, such as "tty".
func (t TerminalSize) Validate(field string) error {
	for _, side := range []struct {
		name string
		n    uint16
	}{{"rows", t.Rows}, {"cols", t.Cols}} {
		if side.n < 1 || side.n > MaxTerminalSide {
			return FieldErrorf(CodeLimitOutOfRange, field+"."+side.name, "%d is out of range; give 1 to %d", side.n, MaxTerminalSide)
		}
	}
	return nil
}

func (s *ExecutionSpec) validateTerminal() error {
	if s.Terminal == nil {
		return nil
	}
	return s.Terminal.Validate("tty")
}
