package record

import (
	"encoding/json"
	"fmt"

	"github.com/yurtrun/yurt/access"
)

const (
	// SelectQuotas reads the quotas of a tenant.
	SelectQuotas = "SELECT quotas FROM tenants WHERE name = ?"
	// SetQuotas sets the quotas of a tenant.
	SetQuotas = "INSERT INTO tenants (name, quotas) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET quotas = excluded.quotas"
	// TenantNames lists tenants after a name.
	TenantNames = `SELECT name FROM (SELECT name FROM tenants UNION SELECT tenant FROM api_keys UNION SELECT DISTINCT tenant FROM sessions) AS all_tenants
		WHERE name > ? ORDER BY name`

	// UseOfSessions adds up the live sessions of a tenant.
	UseOfSessions = `SELECT count(*), CAST(coalesce(sum(cpu), 0) AS double precision), CAST(coalesce(sum(memory), 0) AS bigint), CAST(coalesce(sum(disk), 0) AS bigint)
		FROM sessions WHERE tenant = ? AND ended_at IS NULL`
	// Creates counts the sessions of a tenant that were made after a time, and returns when the first of them was.
	Creates = "SELECT count(*), coalesce(min(created_at), 0) FROM sessions WHERE tenant = ? AND created_at > ?"
	// UseOfExecutions counts the executions of a tenant that have not ended.
	UseOfExecutions = `SELECT count(*) FROM executions WHERE result IS NULL
		AND session_id IN (SELECT id FROM sessions WHERE tenant = ? AND ended_at IS NULL)`
	// UseOfStorage adds up the results of a tenant.
	UseOfStorage = `SELECT CAST(coalesce(sum(kept_bytes), 0) AS bigint) FROM executions WHERE kept_bytes > 0
		AND session_id IN (SELECT id FROM sessions WHERE tenant = ?)`
)

// QuotasValue returns the stored value of quotas.
func QuotasValue(quotas access.Quotas) (string, error) {
	data, err := json.Marshal(quotas)
	if err != nil {
		return "", fmt.Errorf("encoding quotas: %w", err)
	}
	return string(data), nil
}

// ScanQuotas reads quotas.
func ScanQuotas(row Row) (quotas access.Quotas, err error) {
	var text string
	if err := row.Scan(&text); err != nil {
		return access.Quotas{}, err
	}
	if err := json.Unmarshal([]byte(text), &quotas); err != nil {
		return access.Quotas{}, fmt.Errorf("reading quotas: %w", err)
	}
	return quotas, nil
}
