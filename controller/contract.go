package controller

import (
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/fleet"
)

// The contracts of stores, nodes and placers, for their implementations and for the transports.
type (
	// Store is [contract.Store].
	Store = contract.Store
	// SessionStore is [contract.SessionStore].
	SessionStore = contract.SessionStore
	// ExpiryStore is [contract.ExpiryStore].
	ExpiryStore = contract.ExpiryStore
	// ExecutionStore is [contract.ExecutionStore].
	ExecutionStore = contract.ExecutionStore
	// ResultStore is [contract.ResultStore].
	ResultStore = contract.ResultStore
	// TemplateStore is [contract.TemplateStore].
	TemplateStore = contract.TemplateStore
	// PoolStore is [contract.PoolStore].
	PoolStore = contract.PoolStore
	// ClockStore is [contract.ClockStore].
	ClockStore = contract.ClockStore
	// ShrinkStore is [contract.ShrinkStore].
	ShrinkStore = contract.ShrinkStore
	// SessionChange is [contract.SessionChange].
	SessionChange = contract.SessionChange
	// SessionQuery is [contract.SessionQuery].
	SessionQuery = contract.SessionQuery
	// Position is [contract.Position].
	Position = contract.Position
	// IdempotencyKey is [contract.IdempotencyKey].
	IdempotencyKey = contract.IdempotencyKey
	// OutputError is [contract.OutputError].
	OutputError = contract.OutputError
	// Node is [contract.Node].
	Node = contract.Node
	// ExecutionNode is [contract.ExecutionNode].
	ExecutionNode = contract.ExecutionNode
	// TemplateNode is [contract.TemplateNode].
	TemplateNode = contract.TemplateNode
	// Placer is [contract.Placer].
	Placer = contract.Placer
	// NodePlacer is [contract.NodePlacer].
	NodePlacer = contract.NodePlacer
	// SlotPlacer is [contract.SlotPlacer].
	SlotPlacer = contract.SlotPlacer
	// Hints is [contract.Hints].
	Hints = contract.Hints
)

// The errors of a store that say that another request was first.
var (
	ErrKeyTaken   = contract.ErrKeyTaken
	ErrReuseTaken = contract.ErrReuseTaken
)

// NewerSchema is [contract.NewerSchema].
func NewerSchema(there, known int64) error { return contract.NewerSchema(there, known) }

// ExecuteRequest is [execution.Request].
type ExecuteRequest = execution.Request

// ShellCommand is [execution.ShellCommand].
func ShellCommand(line string) []string { return execution.ShellCommand(line) }

// OrphanPolicy is [fleet.OrphanPolicy].
type OrphanPolicy = fleet.OrphanPolicy

// The policies, and the grace of a drain.
const (
	OrphansRefuse     = fleet.OrphansRefuse
	OrphansDestroy    = fleet.OrphansDestroy
	OrphansKeep       = fleet.OrphansKeep
	DefaultDrainGrace = fleet.DefaultDrainGrace
)
