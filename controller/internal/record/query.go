package record

import (
	"fmt"
	"math"
	"strings"
	"time"

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

// Created keeps the rows that were made in a period.
func (c *Conditions) Created(in contract.Period) {
	if !in.Since.IsZero() {
		c.Add("created_at >= ?", nanoseconds(in.Since))
	}
	if !in.Until.IsZero() {
		c.Add("created_at < ?", nanoseconds(in.Until))
	}
}

// nanoseconds returns the time as the databases keep it. For a time outside their range it returns the nearest end of the range.
func nanoseconds(at time.Time) int64 {
	switch {
	case at.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case at.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	default:
		return at.UnixNano()
	}
}

// Executions adds the conditions of a query for the executions of a session.
func (c *Conditions) Executions(sessionID string, query contract.ExecutionQuery) {
	c.Add("session_id = ?", sessionID)
	c.equal("state", string(query.State))
	c.equal("kind", string(query.Kind))
	c.equal("language", query.Language)
	c.Created(query.Created)
	c.Before(query.Before)
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
	c.Created(query.Created)
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
