package tenancy

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// BeginExecution implements contract.ExecutionStore.
func (d *divided) BeginExecution(ctx context.Context, e yurt.Execution, change contract.SessionChange) (yurt.Session, error) {
	change, err := own(ctx, change)
	if err != nil {
		return yurt.Session{}, err
	}
	if tenant, all, err := reach(ctx); err == nil && !all {
		if err := d.admit(ctx, tenant); err != nil {
			return yurt.Session{}, err
		}
	}
	return d.all.BeginExecution(ctx, e, change)
}

// EndExecution implements contract.ExecutionStore.
func (d *divided) EndExecution(ctx context.Context, id string, result *yurt.Result, change contract.SessionChange) (yurt.Session, bool, error) {
	change, err := own(ctx, change)
	if err != nil {
		return yurt.Session{}, false, err
	}
	session, ended, err := d.all.EndExecution(ctx, id, result, change)
	if ended && err == nil {
		d.ended(session, id, result)
	}
	return session, ended, err
}

// Execution implements contract.ExecutionStore.
func (d *divided) Execution(ctx context.Context, sessionID, id string) (yurt.Execution, error) {
	if err := d.owned(ctx, sessionID); err != nil {
		return yurt.Execution{}, err
	}
	return d.all.Execution(ctx, sessionID, id)
}

// LatestExecution implements contract.ExecutionStore.
func (d *divided) LatestExecution(ctx context.Context, sessionID string) (yurt.Execution, error) {
	if err := d.owned(ctx, sessionID); err != nil {
		return yurt.Execution{}, err
	}
	return d.all.LatestExecution(ctx, sessionID)
}

// Executions implements contract.ExecutionStore.
func (d *divided) Executions(ctx context.Context, sessionID string, query contract.ExecutionQuery) ([]yurt.Execution, error) {
	if err := d.owned(ctx, sessionID); err != nil {
		return nil, err
	}
	return d.all.Executions(ctx, sessionID, query)
}

// UnfinishedExecutions implements contract.ExecutionStore.
func (d *divided) UnfinishedExecutions(ctx context.Context, sessionID string) ([]yurt.Execution, error) {
	err := system(ctx)
	if sessionID != "" {
		err = d.owned(ctx, sessionID)
	}
	if err != nil {
		return nil, err
	}
	return d.all.UnfinishedExecutions(ctx, sessionID)
}

// OwnExecution implements contract.ExecutionStore.
func (d *divided) OwnExecution(ctx context.Context, id, from, to string) (bool, error) {
	if err := system(ctx); err != nil {
		return false, err
	}
	return d.all.OwnExecution(ctx, id, from, to)
}
