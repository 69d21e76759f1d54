package hcl

// Bounds of the sources. They hold for one call: for all its sources together.
const (
	MaxSourceBytes = 1 << 20 // source text
	MaxTokens      = 1 << 18 // words, numbers, signs and line ends of one source
	MaxTextBytes   = 1 << 17 // text between quotes, up to the next interpolation
	MaxTemplates   = 256     // template blocks
	MaxVariables   = 256     // variable blocks
	MaxLocals      = 1024    // names in locals blocks
	MaxNesting     = 64      // blocks, brackets, quotes and interpolations inside one another

	// MaxExpressionTokens bounds how deep an expression without brackets can be,
	// such as a chain of operators: parsing and evaluating it recurse.
	MaxExpressionTokens = 8192
	// MaxNumberBytes bounds the text of one number.
	MaxNumberBytes = 64
	// EvaluationBudget bounds the work of all expressions together, in bytes of the
	// values that they read and make, each value counting at least [valueCost].
	EvaluationBudget = 8 << 20
	// MaxDiagnostics bounds how many problems are reported.
	MaxDiagnostics = 50
)

// Bounds of a template that the domain does not set.
const (
	MaxDescriptionBytes = 2048
	MaxHostPaths        = 64
	MaxRuntimes         = 32
	MaxPreload          = 32
	maxModuleBytes      = 128
	maxNameBytes        = 63 // of a template or a runtime: fits a DNS label and a file name
)
