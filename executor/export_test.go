package executor

// Watchers counts those who watch for sandboxes that die.
func Watchers(e *Executor) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.deaths)
}
