package start

import (
	"strconv"
	"sync"
)

const (
	// zygoteAfter is how many runs of a language are started in the ordinary way before a
	// zygote is: one that serves no run costs more than it brings.
	zygoteAfter = 2
	// zygoteTries is how many zygotes a sandbox has one after the other at most: code that
	// ends them gets ordinary starts. One that was only too slow does not count.
	zygoteTries = 3
	// zygoteRest is how many times as many runs there have been when another is started after
	// one that was too slow, as they are on a machine that is busy for the moment.
	zygoteRest = 4
	// zygoteRefusals is after how many forks in a row that did not come about a zygote goes.
	zygoteRefusals = 3

	zygotePrefix = "zygote-"
)

// zygotes are those of a sandbox, by language.
type zygotes struct {
	parks bool // their forks wait in the leaf of their run, as on cgroup v2
	mu    sync.Mutex
	by    map[string]*zygote
}

// zygote is an interpreter in a sandbox that forks for each run of its language, and has never run code of the user.
// Processes of the same user could trace a zygote while it starts, so it starts only when the sandbox has no such
// process.
type zygote struct {
	served   int    // runs that it could have started
	after    int    // how many of those there are before it is started
	tries    int    // how often it was started, and was not too slow
	number   int    // of the last that was started
	id       string // of its process, in yurt-init; "" while there is none
	refusals int
	late     bool    // the next run was there before it could be started
	next     *parked // the parked fork; nil if no fork is parked
}

// of returns the zygote of the language. The lock is held.
func (z *zygotes) of(language string) *zygote {
	if z.by == nil {
		z.by = make(map[string]*zygote)
	}
	if z.by[language] == nil {
		z.by[language] = &zygote{}
	}
	return z.by[language]
}

// id returns the process from which a run of the language must be forked; "" without a zygote.
func (z *zygotes) id(language string) string {
	if language == "" {
		return ""
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.of(language).id
}

// due notes that a run of the language has ended, and returns the name of the zygote to start now; "" if it is too early.
func (z *zygotes) due(language string, after int) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	one.served++
	if one.id != "" || one.served < max(after, one.after) || one.tries >= zygoteTries {
		return ""
	}
	return zygoteName(language, one.number+1)
}

// wanted returns the name of the zygote that may be started before a process of the language; ""
// if one is there, there were too many, or the last was too slow a few processes ago: each would
// wait as long for the next.
func (z *zygotes) wanted(language string) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if one.id != "" || one.tries >= zygoteTries {
		return ""
	}
	if one.served < one.after {
		one.served++
		return ""
	}
	return zygoteName(language, one.number+1)
}

func zygoteName(language string, number int) string {
	return zygotePrefix + language + "-" + strconv.Itoa(number)
}

// begun notes that a zygote was started, and with its id that it is ready.
func (z *zygotes) begun(language, id string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if id == "" {
		one.tries++
		one.number++
	}
	one.id, one.refusals, one.late = id, 0, false
}

// slow notes that the one that was begun was not ready in time: there is another, later.
func (z *zygotes) slow(language string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	one.tries--
	one.after = zygoteRest * max(one.served, zygoteAfter)
}

// missed notes that the next run was there before the zygote could be started.
func (z *zygotes) missed(language string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.of(language).late = true
}

// isLate reports whether the zygote was late the last time. A caller that starts each run as soon as the one before
// has ended leaves only that moment to start it.
func (z *zygotes) isLate(language string) bool {
	if language == "" {
		return false
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.of(language).late
}

// ended notes that the zygote is gone, and returns its parked fork.
func (z *zygotes) ended(language, id string) *parked {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if one.id == id {
		one.id = ""
	}
	next := one.next
	if next == nil || next.zygote != id {
		return nil
	}
	one.next = nil
	return next
}

// answered notes whether a fork came about, and reports whether the zygote is to go.
func (z *zygotes) answered(language string, forked bool) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if forked {
		one.refusals = 0
		return false
	}
	one.refusals++
	return one.refusals == zygoteRefusals
}
