package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
)

const selectTemplate = "SELECT body FROM templates WHERE name = ?"

// CreateTemplate implements controller.TemplateStore.
func (s *Store) CreateTemplate(ctx context.Context, t yurt.Template) error {
	body, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encoding a template: %w", err)
	}
	result, err := s.write.ExecContext(ctx, "INSERT INTO templates (name, body, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		t.Name, string(body), time.Now().UnixNano())
	if err != nil {
		return fmt.Errorf("adding a template: %w", err)
	}
	added, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("adding a template: %w", err)
	}
	if added == 0 {
		return yurt.FieldErrorf(yurt.CodeTemplateExists, "name", "template %s exists; choose another name", t.Name)
	}
	return nil
}

// Template implements controller.TemplateStore.
func (s *Store) Template(ctx context.Context, name string) (yurt.Template, error) {
	var body []byte
	err := s.read.QueryRowContext(ctx, selectTemplate, name).Scan(&body)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return yurt.Template{}, yurt.Errorf(yurt.CodeTemplateNotFound, "there is no template %.80q; list the templates to see which there are", name)
	case err != nil:
		return yurt.Template{}, fmt.Errorf("reading a template: %w", err)
	}
	return decodeTemplate(body)
}

func decodeTemplate(body []byte) (yurt.Template, error) {
	var t yurt.Template
	if err := json.Unmarshal(body, &t); err != nil {
		return yurt.Template{}, fmt.Errorf("decoding a template: %w", err)
	}
	return t, nil
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
		t, err := decodeTemplate(body)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, rows.Err()
}
