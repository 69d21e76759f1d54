package record

import (
	"fmt"
	"strings"

	"github.com/yurtrun/yurt/controller/contract"
)

// Conditions builds a WHERE clause, with a question mark for each argument.
type Conditions struct {
	Args  []any
	terms []string
}

// Add demands another term.
func (c *Conditions) Add(term string, args ...any) {
	c.terms = append(c.terms, term)
	c.Args = append(c.Args, args...)
}

// Before keeps the rows after a position in a list that is ordered newest first.
func (c *Conditions) Before(p contract.Position) {
	if !p.IsZero() {
		c.Add("(created_at, id) < (?, ?)", p.CreatedAt.UnixNano(), p.ID)
	}
}

// Sessions adds the conditions of a query, except for metadata, which each database reads in its own way.
func (c *Conditions) Sessions(query contract.SessionQuery) {
	if query.Tenant != "" {
		c.Add("tenant = ?", query.Tenant)
	}
	if query.IDPrefix != "" { // not by order: that of a database depends on its collation
		c.Add(fmt.Sprintf("substr(id, 1, %d) = ?", len(query.IDPrefix)), query.IDPrefix)
	}
	if query.TemplateID != "" {
		c.Add("template_id = ?", query.TemplateID)
	}
	if query.State != "" {
		c.Add("state = ?", string(query.State))
		if query.State.Ended() { // as the indexes say it
			c.Add("ended_at IS NOT NULL")
		} else {
			c.Add("ended_at IS NULL")
		}
	}
	if query.Live {
		c.Add("ended_at IS NULL")
	}
	if query.AgentID != "" {
		c.Add("agent_id = ? AND agent_id <> ''", query.AgentID) // as the index says it
	}
	if query.ReuseKey != "" {
		c.Add("reuse_key = ? AND reuse_key <> ''", query.ReuseKey)
	}
	c.Before(query.Before)
}

// SQL returns the clause.
func (c *Conditions) SQL() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}

// NewestFirst orders a list by time of creation and then by id.
const NewestFirst = " ORDER BY created_at DESC, id DESC"

// Limit returns the clause for at most n rows, 0 for all.
func Limit(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d", n)
}
