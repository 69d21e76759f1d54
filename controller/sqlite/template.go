package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/record"
)

const selectTemplate = "SELECT body FROM templates WHERE name = ?"

// CreateTemplate implements controller.TemplateStore.
func (s *Store) CreateTemplate(ctx context.Context, t yurt.Template) error {
	body, err := record.EncodeTemplate(t)
	if err != nil {
		return err
	}
	result, err := s.write.exec(ctx, "INSERT INTO templates (name, body, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		t.Name, body, time.Now().UnixNano())
	if err != nil {
		return fmt.Errorf("adding a template: %w", err)
	}
	added, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("adding a template: %w", err)
	}
	if added == 0 {
		return record.TemplateExists(t.Name)
	}
	return nil
}

// Template implements controller.TemplateStore.
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

// Templates implements controller.TemplateStore.
func (s *Store) Templates(ctx context.Context) ([]yurt.Template, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT body FROM templates ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("listing templates: %w", err)
	}
	defer rows.Close()
	var list []yurt.Template
	for rows.Next() {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return nil, fmt.Errorf("reading a template: %w", err)
		}
		t, err := record.DecodeTemplate(body)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, rows.Err()
}
