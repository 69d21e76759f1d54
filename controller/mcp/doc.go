// Package mcp serves sandboxes to agents over the Model Context Protocol: the tools that create sandboxes,
// run code in them and pass files, and the resources that hold their files and large output.
//
// [New] returns a [Server]. [Server.Handler] serves it over streamable HTTP, to clients of revision
// 2025-11-25 and of the stateless 2026-07-28; [Server.Run] serves one client over a transport such as
// stdio. The package translates and adds no rule: arguments become calls of the controller, or of a
// client that stands in for it, and its errors become results that a model can read. Arguments are
// decoded strictly, and a refused value is never repeated.
//
// No state lies between calls but the limits of each client. A sandbox is named by an argument, so a
// call can reach any controller. A call that its client cancels interrupts the execution.
package mcp
