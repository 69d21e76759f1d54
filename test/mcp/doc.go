// Package mcp holds the MCP server to the conformance suite of the protocol, in both revisions, and drives
// it with the stock clients of Python and TypeScript.
package mcp
