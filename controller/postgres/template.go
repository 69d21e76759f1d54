package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// PutTemplates implements contract.TemplateStore.
func (s *Store) PutTemplates(ctx context.Context, templates []yurt.Template, check contract.TemplateCheck) error {
	bodies := make([]string, len(templates))
	for i, t := range templates {
		var err error
		if bodies[i], err = record.EncodeTemplate(t); err != nil {
			return err
		}
	}
	var there []yurt.Template
	return s.transact(ctx, "adding templates", readTemplates(&there), func(writes *pgx.Batch) error {
		for i, t := range templates {
			if err := record.MayPut(t, there, check); err != nil {
				return err
			}
			queue(writes, "INSERT INTO templates (name, body, created_at) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
				t.Name, bodies[i], time.Now().UnixNano())
		}
		return nil
	})
}

// DeleteTemplate implements contract.TemplateStore.
func (s *Store) DeleteTemplate(ctx context.Context, name string) error {
	var there []yurt.Template
	return s.transact(ctx, "deleting a template", readTemplates(&there), func(writes *pgx.Batch) error {
		if err := record.MayDelete(name, there); err != nil {
			return err
		}
		queue(writes, "DELETE FROM templates WHERE name = ?", name)
		queue(writes, "DELETE FROM pools WHERE template = ?", name)
		return nil
	})
}

// readTemplates locks the templates against other changes until the transaction ends, and reads them.
func readTemplates(into *[]yurt.Template) func(*pgx.Batch) {
	return func(reads *pgx.Batch) {
		reads.Queue("LOCK TABLE templates IN SHARE ROW EXCLUSIVE MODE")
		queue(reads, "SELECT body FROM templates ORDER BY name").Query(func(rows pgx.Rows) error {
			*into = nil
			for rows.Next() {
				t, err := scanTemplate(rows)
				if err != nil {
					return err
				}
				*into = append(*into, t)
			}
			return rows.Err()
		})
	}
}

func scanTemplate(row record.Row) (yurt.Template, error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return yurt.Template{}, err
	}
	return record.DecodeTemplate(body)
}

// Template implements contract.TemplateStore.
func (s *Store) Template(ctx context.Context, name string) (yurt.Template, error) {
	t, ok, err := first(ctx, s, "reading a template", "SELECT body FROM templates WHERE name = ?", []any{name}, scanTemplate)
	if err == nil && !ok {
		err = record.TemplateNotFound(name)
	}
	return t, err
}

// Templates implements contract.TemplateStore.
func (s *Store) Templates(ctx context.Context) ([]yurt.Template, error) {
	return list(ctx, s, "listing templates", `SELECT body FROM templates ORDER BY name COLLATE "C"`, nil, scanTemplate)
}
