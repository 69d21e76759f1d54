package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// CreateTemplate implements controller.TemplateStore.
func (s *Store) CreateTemplate(ctx context.Context, t yurt.Template) error {
	body, err := record.EncodeTemplate(t)
	if err != nil {
		return err
	}
	err = s.transact(ctx, "adding a template", func(*pgx.Batch) {}, func(writes *pgx.Batch) error {
		queue(writes, "INSERT INTO templates (name, body, created_at) VALUES (?, ?, ?)", t.Name, body, time.Now().UnixNano())
		return nil
	})
	if violates(err, "templates_pkey") {
		return record.TemplateExists(t.Name)
	}
	return err
}

func scanTemplate(row record.Row) (yurt.Template, error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return yurt.Template{}, err
	}
	return record.DecodeTemplate(body)
}

// Template implements controller.TemplateStore.
func (s *Store) Template(ctx context.Context, name string) (yurt.Template, error) {
	t, ok, err := first(ctx, s, "reading a template", "SELECT body FROM templates WHERE name = ?", []any{name}, scanTemplate)
	if err == nil && !ok {
		err = record.TemplateNotFound(name)
	}
	return t, err
}

// Templates implements controller.TemplateStore.
func (s *Store) Templates(ctx context.Context) ([]yurt.Template, error) {
	return list(ctx, s, "listing templates", `SELECT body FROM templates ORDER BY name COLLATE "C"`, nil, scanTemplate)
}
