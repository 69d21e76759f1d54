// Package controller holds sessions: it places them, runs executions in them,
// and ends them.
//
// It keeps no state of its own: everything is in the [Store] or on the nodes. The
// transports (controller/httpapi and others) call it and add no rule of their
// own; placers (controller/local and others) and stores (controller/sqlite and
// others) implement its interfaces.
package controller
