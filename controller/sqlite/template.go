package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
)

const selectTemplate = "SELECT body FROM templates WHERE name = ?"

// PutTemplates implements contract.TemplateStore.
func (s *Store) PutTemplates(ctx context.Context, templates []yurt.Template, check contract.TemplateCheck) error {
	const statement = "INSERT INTO templates (name, body, created_at) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body"
	return s.write.transact(ctx, func(tx *transaction) error {
		there, err := s.Templates(tx.ctx) // this transaction alone writes meanwhile
		if err != nil {
			return err
		}
		for _, t := range templates {
			if err := record.MayPut(t, there, check); err != nil {
				return err
			}
			body, err := record.EncodeTemplate(t)
			if err != nil {
				return err
			}
			if _, err := tx.exec(statement, t.Name, body, time.Now().UnixNano()); err != nil {
				return fmt.Errorf("adding a template: %w", err)
			}
		}
		return nil
	}, func(bool) {})
}

// DeleteTemplate implements contract.TemplateStore.
func (s *Store) DeleteTemplate(ctx context.Context, name string) error {
	s.pools.mu.Lock()
	defer s.pools.mu.Unlock()
	s.pools.known = nil
	return s.write.transact(ctx, func(tx *transaction) error {
		all, err := s.Templates(tx.ctx) // this transaction alone writes meanwhile
		if err != nil {
			return err
		}
		if err := record.MayDelete(name, all); err != nil {
			return err
		}
		for _, statement := range []string{"DELETE FROM templates WHERE name = ?", "DELETE FROM pools WHERE template = ?"} {
			if _, err := tx.exec(statement, name); err != nil {
				return fmt.Errorf("deleting a template: %w", err)
			}
		}
		return nil
	}, func(bool) {})
}

// Template implements contract.TemplateStore.
func (s *Store) Template(ctx context.Context, name string) (yurt.Template, error) {
	var body []byte
	err := s.read.QueryRowContext(ctx, selectTemplate, name).Scan(&body)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return yurt.Template{}, record.TemplateNotFound(name)
	case err != nil:
		return yurt.Template{}, fmt.Errorf("reading a template: %w", err)
	}
	return record.DecodeTemplate(body)
}

// Templates implements contract.TemplateStore.
func (s *Store) Templates(ctx context.Context) ([]yurt.Template, error) {
	return list(ctx, s.read, "listing templates", "SELECT body FROM templates ORDER BY name", nil, func(row record.Row) (t yurt.Template, err error) {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return t, fmt.Errorf("reading a template: %w", err)
		}
		return record.DecodeTemplate(body)
	})
}
