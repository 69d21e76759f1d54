package controller

import (
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/fleet"
)

// Store and the types after it are the contracts of stores, nodes and placers, for their implementations and for the transports.
type (
	Store          = contract.Store
	SessionStore   = contract.SessionStore
	ExpiryStore    = contract.ExpiryStore
	ExecutionStore = contract.ExecutionStore
	ResultStore    = contract.ResultStore
	TemplateStore  = contract.TemplateStore
	PoolStore      = contract.PoolStore
	ClockStore     = contract.ClockStore
	ShrinkStore    = contract.ShrinkStore
	SessionChange  = contract.SessionChange
	SessionQuery   = contract.SessionQuery
	Position       = contract.Position
	IdempotencyKey = contract.IdempotencyKey
	OutputError    = contract.OutputError

	Node          = contract.Node
	ExecutionNode = contract.ExecutionNode
	TemplateNode  = contract.TemplateNode
	Placer        = contract.Placer
	NodePlacer    = contract.NodePlacer
	SlotPlacer    = contract.SlotPlacer
	Hints         = contract.Hints
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
