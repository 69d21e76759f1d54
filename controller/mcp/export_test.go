package mcp

// What tests see of the package.
var (
	FileURI  = fileURI
	Abridged = abridged
)

// MaxInline is the size from which on output is a resource.
const MaxInline = maxInline
