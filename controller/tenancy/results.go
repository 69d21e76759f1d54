package tenancy

import "context"

// TrimResults implements contract.ResultStore. The server alone trims the results of all sessions.
func (d *divided) TrimResults(ctx context.Context, sessionID string, most int64) (int, error) {
	check := func() error { return d.owned(ctx, sessionID) }
	if sessionID == "" {
		check = func() error { return system(ctx) }
	}
	if err := check(); err != nil {
		return 0, err
	}
	return d.all.TrimResults(ctx, sessionID, most)
}

// DeleteResults implements contract.ResultStore.
func (d *divided) DeleteResults(ctx context.Context, sessionID string) error {
	if err := d.owned(ctx, sessionID); err != nil {
		return err
	}
	return d.all.DeleteResults(ctx, sessionID)
}
