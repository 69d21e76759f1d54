package house

// Exceptions are the packages, types and interfaces that are larger than the limits. Each may shrink and may not grow.
func Exceptions() []Exception {
	return nil
}
