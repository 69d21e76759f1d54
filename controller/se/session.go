package se

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
)

const (
	aliasPrefix     = "se:" // begins the agent of a session whose id a caller chose
	maxAlias        = 128   // bytes
	metadataTimeout = "se_timeout"
)

type createBody struct {
	AllowNetwork bool      `json:"allow_network"`
	CPUQuota     *float64  `json:"cpu_quota"`    // cores
	MemoryLimit  *int64    `json:"memory_limit"` // KB
	Timeout      *duration `json:"timeout"`      // of each execution
}

type sessionData struct {
	SessionID string    `json:"session_id"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	YurtID    string    `json:"yurt_session_id"` // its id in the API of Yurt
}

func newSessionData(alias string, s yurt.Session) sessionData {
	status := "active"
	if s.State.Ended() {
		status = "closed"
	}
	return sessionData{SessionID: alias, Status: status, CreatedAt: s.CreatedAt, YurtID: s.ID}
}

// aliasOf returns the id that the caller chose.
func aliasOf(r *http.Request) (string, error) {
	alias := r.PathValue("id")
	if len(alias) > maxAlias {
		return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "session_id", "the id is longer than %d bytes; give a shorter one", maxAlias)
	}
	return alias, yurt.ValidateName("session_id", alias)
}

// find returns the live session of an alias.
func (a *API) find(ctx context.Context, alias string) (yurt.Session, error) {
	query := contract.SessionQuery{AgentID: aliasPrefix + alias, Live: true, Limit: 1}
	found, err := a.config.Sessions.Sessions(ctx, query)
	if err != nil {
		return yurt.Session{}, err
	}
	if len(found) == 0 {
		return yurt.Session{}, yurt.FieldErrorf(yurt.CodeSessionNotFound, "session_id", "no session of this id lives; create it with POST %s/session/ID", prefix)
	}
	return found[0], nil
}

// sessionOf returns the session that a request names.
func (a *API) sessionOf(r *http.Request) (yurt.Session, error) {
	alias, err := aliasOf(r)
	if err != nil {
		return yurt.Session{}, err
	}
	return a.find(r.Context(), alias)
}

// createSession makes a session, or answers with the one that the id has.
func (a *API) createSession(r *http.Request) (any, error) {
	alias, err := aliasOf(r)
	if err != nil {
		return nil, err
	}
	var body createBody
	if err := decode(r, &body, true); err != nil {
		return nil, err
	}
	req, err := a.request(alias, body)
	if err != nil {
		return nil, err
	}
	if found, err := a.find(r.Context(), alias); err == nil {
		return newSessionData(alias, found), nil
	} else if yurt.CodeOf(err) != yurt.CodeSessionNotFound {
		return nil, err
	}
	made, err := a.config.Sessions.CreateSession(r.Context(), req)
	return newSessionData(alias, made), err
}

// request is the request to the controller. Of several at once with the same id, one makes the session
// and the others have it too, since it is one that an agent reuses.
func (a *API) request(alias string, body createBody) (controller.CreateSessionRequest, error) {
	if body.AllowNetwork {
		return controller.CreateSessionRequest{}, yurt.FieldErrorf(yurt.CodeNotSupported, "allow_network", "sandboxes have no network yet; leave allow_network out, or give false. Packages are installed without it: name them in dependencies of the API of Yurt")
	}
	req := controller.CreateSessionRequest{AgentID: aliasPrefix + alias, Reuse: true, Mode: yurt.ModePersistent, Metadata: map[string]string{}}
	defaults := a.config.Defaults
	switch {
	case body.CPUQuota != nil && (*body.CPUQuota < yurt.MinCPU || *body.CPUQuota > yurt.MaxCPU):
		return req, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "cpu_quota", "%v cores is out of range; give %v to %v", *body.CPUQuota, yurt.MinCPU, yurt.MaxCPU)
	case body.CPUQuota != nil:
		req.Resources.CPU = body.CPUQuota
	case defaults.CPU > 0:
		req.Resources.CPU = &defaults.CPU
	}
	switch {
	case body.MemoryLimit != nil:
		memory, err := Kilobytes("memory_limit", *body.MemoryLimit)
		if err != nil {
			return req, err
		}
		req.Resources.Memory = &memory
	case defaults.Memory > 0:
		req.Resources.Memory = &defaults.Memory
	}
	if body.Timeout != nil {
		if *body.Timeout <= 0 || time.Duration(*body.Timeout) > yurt.MaxExecutionTimeout {
			return req, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "timeout", "the value is out of range; give more than 0 and at most %s", yurt.MaxExecutionTimeout)
		}
		req.Metadata[metadataTimeout] = strconv.FormatInt(int64(*body.Timeout), 10)
	}
	return req, nil
}

// Kilobytes returns a size that the older runtime has in units of 1024 bytes.
func Kilobytes(field string, n int64) (yurt.Size, error) {
	const unit = 1 << 10
	if n < int64(yurt.MinMemory)/unit || n > int64(yurt.MaxMemory)/unit {
		return 0, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, field, "%d KB is out of range; give %d to %d", n, int64(yurt.MinMemory)/unit, int64(yurt.MaxMemory)/unit)
	}
	return yurt.Size(n * unit), nil
}

func (a *API) endSession(r *http.Request) (any, error) {
	session, err := a.sessionOf(r)
	if err != nil {
		return nil, err
	}
	_, err = a.config.Sessions.EndSession(r.Context(), session.ID)
	return map[string]string{"message": "Session closed successfully"}, err
}
