package auth

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

// refreshBatch is how many keys one question to the store is about.
const refreshBatch = 500

// Run compares the keys in memory with the store until ctx ends, and ends the requests of those that are in force no longer. Writes to the
// store have a loop of their own: behind a slow disk they would delay the confirmation of keys, whose requests would end then.
func (a *Authenticator) Run(ctx context.Context) error {
	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		each(ctx, func() {
			a.noteUse(ctx)
			a.purge(ctx)
		})
	})
	each(ctx, func() {
		if err := a.Refresh(ctx); err != nil {
			a.log.Warn("the API keys in use could not be compared with the store", "error", err)
		}
		a.endUnconfirmed()
	})
	return nil
}

// each calls do in each period until ctx ends.
func each(ctx context.Context, do func()) {
	ticker := time.NewTicker(refreshPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}

// Refresh compares the keys in memory with the store at once.
func (a *Authenticator) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, refreshLimit)
	defer cancel()
	a.mu.RLock()
	var hashes, issued []access.Hash
	for hash, k := range a.known {
		if k.issued() {
			issued = append(issued, hash)
		} else {
			hashes = append(hashes, hash)
		}
	}
	a.mu.RUnlock()
	for _, hash := range issued {
		a.compareIssued(hash)
	}
	for batch := range slices.Chunk(hashes, refreshBatch) {
		now := a.now()
		found, err := a.store.KeysByHash(ctx, batch)
		if err != nil {
			return err
		}
		for _, hash := range batch {
			a.compare(hash, found, now)
		}
	}
	return nil
}

// compare takes over the answer of the store about one key.
func (a *Authenticator) compare(hash access.Hash, found map[access.Hash]access.Key, asked time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.known[hash]
	if k == nil {
		return
	}
	key, there := found[hash]
	why := "the API key is gone"
	if there {
		why = key.Refused(a.now())
	}
	switch {
	case why != "":
		a.drop(k, why)
	case k.idle(asked) && k.used.Load() <= k.noted.Load():
		a.drop(k, "the API key was idle")
	default:
		k.confirmed.Store(a.elapsed(asked))
	}
}

// compareIssued forgets a token of an issuer that has expired, or that is not used.
func (a *Authenticator) compareIssued(hash access.Hash) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, now := a.known[hash], a.now()
	if k == nil {
		return
	}
	if why := k.refused(now); why != "" {
		a.drop(k, why)
	} else if k.idle(now) {
		a.drop(k, "the token was idle")
	}
}

// idle reports whether no request has used the key for long.
func (k *known) idle(now time.Time) bool {
	return k.open.Load() == 0 && now.UnixNano()-k.used.Load() > int64(idleLimit)
}

// drop forgets a key and ends its requests.
func (a *Authenticator) drop(k *known, why string) {
	delete(a.known, k.hash)
	k.end(yurt.Errorf(yurt.CodeUnauthenticated, "%s", why))
}

// endUnconfirmed ends the requests of keys that another controller may have revoked.
func (a *Authenticator) endUnconfirmed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.known {
		if !k.issued() && a.elapsed(a.now())-k.confirmed.Load() > int64(confirmLimit) {
			a.drop(k, "the store of API keys is away")
		}
	}
}

// noteUse has the store note the last use of keys, at most once in a period for each.
func (a *Authenticator) noteUse(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refreshLimit)
	defer cancel()
	used := map[string]time.Time{}
	var written []*known
	a.mu.RLock()
	for _, k := range a.known {
		last, noted := k.used.Load(), k.noted.Load()
		if !k.issued() && last > noted && (noted == 0 || last-noted >= int64(usePeriod) || k.open.Load() == 0 && a.now().UnixNano()-noted >= int64(usePeriod)) {
			used[k.key.ID] = time.Unix(0, last).UTC()
			written = append(written, k)
		}
	}
	a.mu.RUnlock()
	if len(used) == 0 {
		return
	}
	if err := a.store.UseKeys(ctx, used); err != nil {
		a.log.Warn("the last use of API keys could not be stored", "error", err)
		return
	}
	for _, k := range written {
		k.noted.Store(used[k.key.ID].UnixNano())
	}
}

// purge removes keys that have long been out of force.
func (a *Authenticator) purge(ctx context.Context) {
	now := a.now()
	if now.Sub(a.purged) < purgePeriod {
		return
	}
	a.purged = now
	ctx, cancel := context.WithTimeout(ctx, refreshLimit)
	defer cancel()
	if err := a.store.PurgeKeys(ctx, now.Add(-keepKeys)); err != nil {
		a.log.Warn("old API keys could not be removed", "error", err)
	}
}
