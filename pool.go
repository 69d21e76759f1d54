package yurt

// PoolSize is how many sandboxes of a template are kept ready: Min always, and up to Max
// when demand asks for them. Both 0 keeps none.
type PoolSize struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// Validate refuses a size that no warm pool may have.
func (s PoolSize) Validate() error {
	if s.Min < 0 || s.Min > MaxPool {
		return FieldErrorf(CodeLimitOutOfRange, "min", "%d is out of range; give 0 to %d", s.Min, MaxPool)
	}
	if s.Max < s.Min || s.Max > MaxPool {
		return FieldErrorf(CodeLimitOutOfRange, "max", "%d is out of range; give %d, which is the least it keeps, to %d", s.Max, s.Min, MaxPool)
	}
	return nil
}

// Pool is what there is to say of the warm pool of a template. What it counts, it counts
// since its owner was started.
type Pool struct {
	Template string `json:"template"`
	PoolSize
	Target   int     `json:"target"`  // that are to be ready, by demand
	Ready    int     `json:"ready"`   // to be claimed now
	Pending  int     `json:"pending"` // that are being made
	Claimed  int     `json:"claimed"` // whose place is theirs again when they end; on a cluster
	Hits     int64   `json:"hits"`    // claims that found one
	Misses   int64   `json:"misses"`  // claims that found none
	HitRate  float64 `json:"hit_rate"`
	Refills  int64   `json:"refills"`   // sandboxes that were made for it, by the controller that leads
	RefillMS float64 `json:"refill_ms"` // milliseconds that making one takes, on average
	// Failure is why the last one could not be made, until one is.
	Failure string `json:"failure,omitempty"`
}
