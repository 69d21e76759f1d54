package arch

// Exceptions are the packages, types and interfaces that are larger than the limits. Each may shrink and may not grow.
func Exceptions() []Exception {
	const (
		since  = "2026-11-24"
		routes = "one method a route, without rules of its own"
		wire   = "one method a call of the protocol, without rules of its own"
	)
	return []Exception{
		{"controller/httpapi.API", 86, routes, since},
		{"controller/internal/nodetest.Node", 55, "it stands for a whole node in the controller's tests", since},
		{"controller/postgres.Store", 47, "the methods of the store's interfaces", since},
		{"executor/api.Client", 57, wire, since},
		{"executor/api.Node", 14, "it embeds the interfaces of the controller's side", since},
		{"executor/kernel/internal/protocol.Context", 48, "the states of one interpreter under one lock", since},
		{"executor/sandbox.Sandbox", 51, "the record and the live handle have one lock", since},
		{"sdk/go.Client", 78, routes, since},
	}
}
