package yurt

// PoolSize is how many sandboxes of a template are kept ready: Min always, and up to Max when
// demand asks for them. If both are 0, the pool is off.
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

// Change returns the change that gives any warm pool this size.
func (s PoolSize) Change() PoolChange { return PoolChange{Min: &s.Min, Max: &s.Max} }

// PoolChange is another size for a warm pool. A nil field leaves that part as it is.
type PoolChange struct {
	Min *int `json:"min,omitempty"`
	Max *int `json:"max,omitempty"`
}

// Of returns the size of a pool of the given size after the change. A Min above the pool's Max
// raises Max, as in a template that gives no Max.
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

// Pool is the state of a template's warm pool. Its counters start at 0 when the owner of the pool
// starts.
type Pool struct {
	Template string `json:"template"`
	PoolSize
	Target   int     `json:"target"`  // that are to be ready, by demand
	Ready    int     `json:"ready"`   // to be claimed now
	Pending  int     `json:"pending"` // that are being made
	Claimed  int     `json:"claimed"` // whose place is theirs again when they end; on a cluster
	Hits     int64   `json:"hits"`    // claims that found one
	Misses   int64   `json:"misses"`  // claims that found no sandbox
	HitRate  float64 `json:"hit_rate"`
	Refills  int64   `json:"refills"`   // sandboxes that were made for it, by the controller that leads
	RefillMS float64 `json:"refill_ms"` // milliseconds that making one takes, on average
	// Failure is why the last one could not be made, until one is.
	Failure string `json:"failure,omitempty"`
}
