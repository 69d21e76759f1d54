package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// debtRecord says that a kernel of a context is gone, and that no execution has said so yet.
type debtRecord struct {
	Version   int       `json:"version"`
	Language  string    `json:"language"`
	Context   string    `json:"context"`
	CreatedAt time.Time `json:"created_at"` // the context
}

// noteDebt keeps, over a restart of the executor, whether the context owes its executions
// word of a kernel that is gone.
func (e *Engine) noteDebt(s *Sandbox, c *sessionContext, owed bool) {
	if s.CheckUsable() != nil {
		return
	}
	if err := s.writeDebt(c.key, c.created, owed); err != nil {
		e.logger.Warn("that a kernel is gone will be forgotten by the next executor", "sandbox", s.ID(), "context", c.key.name, "error", err)
	}
}

func (s *Sandbox) writeDebt(key contextKey, created time.Time, owed bool) error {
	path := s.debtPath(key)
	if !owed {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing a record: %w", err)
		}
		return nil
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("writing a record: %w", err)
	}
	return records.Write(path, debtRecord{Version: records.Version, Language: key.language, Context: key.name, CreatedAt: created})
}

// debtPath is where the record of a context's debt is. Names of contexts are their users'.
func (s *Sandbox) debtPath(key contextKey) string {
	sum := sha256.Sum256([]byte(key.language + "\x00" + key.name))
	return filepath.Join(s.Path(sandbox.DebtsDir), hex.EncodeToString(sum[:16]))
}

// adoptDebts reads which contexts of the sandbox owe a notice of a restart. It makes the contexts of interpreters
// again; that of a function is made by the next invocation, which describes it.
func (e *Engine) adoptDebts(s *Sandbox) error {
	entries, err := os.ReadDir(s.Path(sandbox.DebtsDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("looking for records: %w", err)
	}
	for _, entry := range entries {
		var record debtRecord
		if err := records.Read(filepath.Join(s.Path(sandbox.DebtsDir), entry.Name()), &record); err != nil {
			return err
		}
		s.debts[contextKey{record.Language, record.Context}] = record.CreatedAt
		if record.Language == functionLanguage {
			continue
		}
		if _, err := e.contextOf(s, yurt.ExecutionSpec{Language: record.Language, ContextName: record.Context}); err != nil {
			return err
		}
	}
	return nil
}
