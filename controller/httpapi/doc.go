// Package httpapi is the controller's REST API, /api/v1, with the paths around it:
// /health, /ready, /version, /metrics, /openapi.json and /docs.
//
// [New] returns an [API], an http.Handler; the server and its listener are the
// caller's. The package translates and adds no rule: bodies and parameters become
// calls of a controller.Controller, its answers become JSON, its errors become
// application/problem+json (RFC 9457) with a stable code. Bodies are decoded
// strictly, bounded, and never echoed: neither an answer nor a log contains
// a client's value that was refused. Files and event streams are
// passed on as they come and never held whole.
//
// Cutting off a request ends that request alone: executions go on.
// [API.Drain] ends event streams politely, for a server that shuts down.
package httpapi
