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

// Change returns the change that gives a warm pool this size, whatever it has.
func (s PoolSize) Change() PoolChange { return PoolChange{Min: &s.Min, Max: &s.Max} }

// PoolChange is another size for a warm pool. A nil field leaves that part as it is.
type PoolChange struct {
	Min *int `json:"min,omitempty"`
	Max *int `json:"max,omitempty"`
}

// Of returns the size that a pool of a size has after the change. A Min above the Max that
// the pool has raises Max as in a template that gives none.
func (c PoolChange) Of(size PoolSize) (PoolSize, error) {
	if c.Min != nil {
		size.Min = *c.Min
	}
	switch {
	case c.Max != nil && c.Min == nil && *c.Max < size.Min && *c.Max >= 0:
		return size, FieldErrorf(CodeLimitOutOfRange, "max", "%d is less than the %d that are always kept ready; give %d to %d, or min as well", *c.Max, size.Min, size.Min, MaxPool)
	case c.Max != nil:
		size.Max = *c.Max
	case size.Max < size.Min:
		size.Max = WarmPool{Min: size.Min}.Or().Max
	}
	return size, size.Validate()
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
