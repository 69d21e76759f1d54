package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/optional"
)

const maxKeyBytes = 256 // of an Idempotency-Key

// CreateSessionRequest describes a session to make. A nil or empty field takes the template's default.
type CreateSessionRequest struct {
	TemplateID  string
	Mode        yurt.Mode // default persistent
	AgentID     string
	Reuse       bool           // the agent's live session instead of a new one, if it has one
	Timeout     *yurt.Duration // lifetime
	IdleTimeout *yurt.Duration
	Env         map[string]string
	Resources   ResourcesRequest
	Network     *yurt.Network
	Metadata    map[string]string
	SnapshotID  string
	// Files are in its workspace before it is ready. Without any they are not in the hash
	// of an idempotency key, which may be of an older version.
	Files []yurt.SourceFile `json:",omitempty"`

	// IdempotencyKey makes a repeated request answer with the first one's session.
	IdempotencyKey string
}

// ResourcesRequest holds the limits that a session asks for itself.
type ResourcesRequest struct {
	CPU    *float64
	Memory *yurt.Size
	Disk   *yurt.Size
	PIDs   *int

	DiskKind *yurt.DiskKind
	IOWeight *int
	Ulimits  UlimitsRequest
}

// UlimitsRequest holds the limits of each process that a session asks for itself.
type UlimitsRequest struct {
	NoFile *int
	FSize  *yurt.Size
	Stack  *yurt.Size
}

// newSession validates req and fills in the defaults.
func (c *Controller) newSession(ctx context.Context, req CreateSessionRequest) (yurt.Session, yurt.Template, error) {
	req.TemplateID = cmp.Or(req.TemplateID, yurt.DefaultTemplate)
	if err := validateCreate(req); err != nil {
		return yurt.Session{}, yurt.Template{}, err
	}
	template, err := c.PooledTemplate(ctx, req.TemplateID)
	if err != nil {
		return yurt.Session{}, yurt.Template{}, inField(err, "template_id")
	}
	resources, err := req.Resources.merge(template.Resources)
	if err != nil {
		return yurt.Session{}, yurt.Template{}, err
	}
	defaults := yurt.DefaultSessionLimits()
	if err := fitFiles(req.Files, resources.Disk); err != nil {
		return yurt.Session{}, yurt.Template{}, err
	}
	timeout := optional.Or(req.Timeout, template.Session.Timeout, defaults.Timeout)
	idle := optional.Or(req.IdleTimeout, template.Session.IdleTimeout, defaults.IdleTimeout)
	if err := yurt.ValidateSessionTimeouts(timeout, idle); err != nil {
		return yurt.Session{}, yurt.Template{}, err
	}
	now := c.life.Now()
	return yurt.Session{
		ID: yurt.NewSessionID(), TemplateID: template.Name, Mode: cmp.Or(req.Mode, yurt.ModePersistent),
		State: yurt.SessionCreating, Reason: "asked for", Tenant: access.TenantOf(ctx), AgentID: req.AgentID,
		Metadata: req.Metadata, Env: req.Env, HasFiles: len(req.Files) > 0, Template: template.ForSession(), Resources: resources, Timeout: timeout, IdleTimeout: idle,
		SandboxID: yurt.NewSandboxID(), Owner: c.life.ID, CreatedAt: now, UpdatedAt: now, ActiveAt: now,
	}, template, nil
}

// inField says of which field of the input a coded error is.
func inField(err error, field string) error {
	var coded *yurt.Error
	if errors.As(err, &coded) && coded.Code != yurt.CodeUnavailable { // which is no fault of the field's
		return yurt.FieldErrorf(coded.Code, field, "%s", coded.Message)
	}
	return err
}

func validateCreate(req CreateSessionRequest) error {
	if err := yurt.ValidateName("template_id", req.TemplateID); err != nil {
		return err
	}
	switch req.Mode {
	case "", yurt.ModeEphemeral, yurt.ModePersistent:
	default:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "mode", "give %q or %q", yurt.ModeEphemeral, yurt.ModePersistent)
	}
	if req.AgentID != "" {
		if err := yurt.ValidateName("agent_id", req.AgentID); err != nil {
			return err
		}
	}
	if err := validateReuse(req); err != nil {
		return err
	}
	if err := validateAbsent(req); err != nil {
		return err
	}
	if err := validateFiles(req); err != nil {
		return err
	}
	if err := yurt.ValidateEnv("env", req.Env); err != nil {
		return err
	}
	return yurt.ValidateMetadata("metadata", req.Metadata)
}

func validateReuse(req CreateSessionRequest) error {
	switch {
	case req.Reuse && req.AgentID == "":
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "reuse", "it is an agent's session that is reused; give agent_id")
	case req.Reuse && req.Mode == yurt.ModeEphemeral:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "reuse", "an %s session is used once; give mode %q, or no mode", yurt.ModeEphemeral, yurt.ModePersistent)
	}
	return nil
}

// validateFiles checks the files that a session is to begin with.
func validateFiles(req CreateSessionRequest) error {
	if req.Reuse && len(req.Files) > 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "files", "a session that is reused has files of its own, which these might replace; leave out files and upload them once it is there, or leave out reuse")
	}
	return yurt.ValidateFiles("files", req.Files)
}

// fitFiles refuses files that are larger than the whole workspace.
func fitFiles(files []yurt.SourceFile, disk yurt.Size) error {
	if size := yurt.FilesSize(files); size > disk {
		return yurt.FieldErrorf(yurt.CodeWorkspaceFull, "files", "they have %s, and the workspace %s; give less, or ask for more resources.disk", size, disk)
	}
	return nil
}

// validateAbsent refuses features that this version does not have.
func validateAbsent(req CreateSessionRequest) error {
	switch {
	case req.SnapshotID != "":
		return yurt.FieldErrorf(yurt.CodeNotSupported, "snapshot_id", "this version has no snapshots; leave the field out")
	case req.Network != nil && !slices.Contains([]yurt.NetworkMode{yurt.NetworkNone, "egress", "bridge", "host"}, req.Network.Mode):
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "network.mode", "there is no such mode; give %q", yurt.NetworkNone)
	case req.Network != nil && req.Network.Mode != yurt.NetworkNone:
		return yurt.FieldErrorf(yurt.CodeNotSupported, "network.mode", "this version has no network but %q for a sandbox", yurt.NetworkNone)
	}
	return nil
}

// merge checks the request and completes it from the template and then from the defaults.
func (r ResourcesRequest) merge(template yurt.Resources) (yurt.Resources, error) {
	var asked yurt.Resources
	err := cmp.Or(
		take("resources.cpu", r.CPU, &asked.CPU),
		take("resources.memory", r.Memory, &asked.Memory),
		take("resources.disk", r.Disk, &asked.Disk),
		take("resources.pids", r.PIDs, &asked.PIDs),
		take("resources.disk_kind", r.DiskKind, &asked.DiskKind),
		take("resources.io_weight", r.IOWeight, &asked.IOWeight),
		take("resources.ulimits.nofile", r.Ulimits.NoFile, &asked.Ulimits.NoFile),
		take("resources.ulimits.fsize", r.Ulimits.FSize, &asked.Ulimits.FSize),
		take("resources.ulimits.stack", r.Ulimits.Stack, &asked.Ulimits.Stack),
	)
	if err != nil {
		return asked, err
	}
	if err := asked.Validate("resources"); err != nil {
		return asked, err
	}
	// Together they may be refused where each alone is not: an image of the template's size.
	all := asked.Or(template).Or(yurt.DefaultResources())
	return all, all.Validate("resources")
}

// take copies a requested limit. The domain reads zero as "the default", so a user cannot ask for zero.
func take[T comparable](field string, asked, into *T) error {
	var zero T
	switch {
	case asked == nil:
		return nil
	case *asked == zero:
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, field, "zero is out of range; leave the field out for the default")
	}
	*into = *asked
	return nil
}

// idempotencyKey ties req's key to the session, or returns nil for a request without a key.
func idempotencyKey(req CreateSessionRequest, sessionID string) (*contract.IdempotencyKey, error) {
	if req.IdempotencyKey == "" {
		return nil, nil
	}
	if len(req.IdempotencyKey) > maxKeyBytes {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "Idempotency-Key", "%d bytes are too long; at most %d are allowed", len(req.IdempotencyKey), maxKeyBytes)
	}
	data, err := json.Marshal(req) // maps marshal sorted: equal requests give equal bytes
	if err != nil {
		return nil, fmt.Errorf("hashing the request: %w", err)
	}
	hash := sha256.Sum256(data)
	return &contract.IdempotencyKey{Key: req.IdempotencyKey, RequestHash: hex.EncodeToString(hash[:]), SessionID: sessionID}, nil
}
