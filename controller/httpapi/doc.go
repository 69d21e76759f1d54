// Package httpapi is the controller's REST API, /api/v1, with what surrounds it:
// /health, /ready, /version, /metrics, /openapi.json and /docs.
//
// [New] returns an [API], an http.Handler; the server and its listener are the
// caller's. The package translates and adds no rule: bodies and parameters become
// calls of a controller.Controller, its answers become JSON, its errors become
// application/problem+json (RFC 9457) with a stable code. Bodies are decoded
// strictly, bounded, and never echoed: neither in an answer nor in a log does a
// value appear that a client sent and that was refused. Files and event streams are
// passed on as they come and never held whole.
//
// A request that is cut off ends nothing but itself: executions go on.
// [API.Drain] ends event streams politely, for a server that shuts down.
package httpapi
