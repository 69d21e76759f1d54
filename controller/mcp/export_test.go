package mcp

// The parts of the package that tests see.
//
//nolint:gochecknoglobals // names of functions
var (
	FileURI  = fileURI
	Abridged = abridged
)

// MaxInline is the size from which on output is a resource.
const MaxInline = maxInline
