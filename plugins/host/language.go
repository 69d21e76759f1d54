package host

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/binary"
	"github.com/yurtrun/yurt/plugins/internal/text"
)

// patience is how long others are kept waiting: by a runtime that failed before and
// starts again, and by one that would come before the one that has the language.
const patience = 500 * time.Millisecond

// described is the outcome of asking one runtime.
type described struct {
	runtime *installed
	info    yurt.RuntimeInfo
	err     error
	asked   bool // false: the answer was not waited for
}

func (d described) has(language string) bool {
	return d.asked && d.err == nil && speaks(d.info, language)
}

// speaks reports whether language is the runtime's name, or one of its languages or
// their aliases.
func speaks(info yurt.RuntimeInfo, language string) bool {
	return info.Name == language || slices.Contains(info.Languages, language)
}

// RuntimeOf describes the runtime that [Host.Plan] takes for a language. Once the runtime is known, this starts and asks no
// process.
func (h *Host) RuntimeOf(ctx context.Context, language string) (yurt.RuntimeInfo, error) {
	r, err := h.find(ctx, language)
	if err != nil {
		return yurt.RuntimeInfo{}, err
	}
	return r.describe(ctx)
}

// find returns the runtime of a language. A runtime whose name is the language
// comes before others that offer it, then the order of names decides; so the
// answer does not depend on which runtimes happen to be running.
func (h *Host) find(ctx context.Context, language string) (*installed, error) {
	language = strings.ToLower(strings.TrimSpace(language))
	if h.ctx.Err() != nil {
		return nil, closedError()
	}
	if r := h.findKnown(language); r != nil && r.unchanged() {
		return r, nil
	}
	if _, err := h.Discover(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	namesake, refusal := h.installed[language], h.refused[language]
	h.mu.Unlock()
	if namesake != nil {
		if info, err := namesake.describe(ctx); err == nil && speaks(info, language) {
			return namesake, nil
		}
	}
	return h.findAmongAll(ctx, language, namesake, refusal)
}

// findAmongAll asks every runtime. namesake has the language's name and did not
// offer it, refusal says why a binary of that name is not started; both may be nil.
func (h *Host) findAmongAll(ctx context.Context, language string, namesake *installed, refusal error) (*installed, error) {
	all := h.describeAll(ctx, func(d described) bool { return d.has(language) })
	if err := ctx.Err(); err != nil {
		return nil, yurt.Errorf(yurt.CodeOf(err), "looking for the runtime of %s: %w", text.Quote(language), err)
	}
	for _, d := range all {
		if d.has(language) {
			return d.runtime, nil
		}
	}
	// It may be a broken runtime that has the language: one of that name, or one
	// that said so when it still worked.
	for _, d := range all {
		if d.err != nil && (d.runtime == namesake || d.runtime.had(language)) {
			return nil, d.err
		}
	}
	if refusal != nil {
		return nil, refusal
	}
	return nil, notSupported(language, all)
}

// findKnown looks among the runtimes that described themselves already. It passes
// over those that cannot, so that they do not slow down the others.
func (h *Host) findKnown(language string) *installed {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := slices.Sorted(maps.Keys(h.installed))
	if _, ok := h.installed[language]; ok {
		names = append([]string{language}, names...)
	}
	for _, name := range names {
		r := h.installed[name]
		if r.had(language) {
			return r
		}
		if r.untried() {
			return nil // it comes first if it has the language: ask it
		}
	}
	return nil
}

// describeAll asks all runtimes at once and returns the answers in the order of
// their names. It waits for all of them; or, where enough accepts one, for those
// before that one, with patience.
func (h *Host) describeAll(ctx context.Context, enough func(described) bool) []described {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel() // ends the waiting, not the starts: those belong to the host

	all := h.list()
	type answer struct {
		index int
		described
	}
	answers := make(chan answer, len(all))
	for i, d := range all {
		wg.Go(func() {
			info, err := d.runtime.ask(ctx)
			answers <- answer{i, described{d.runtime, info, err, true}}
		})
	}
	var impatient <-chan time.Time
	for range all {
		select {
		case a := <-answers:
			all[a.index] = a.described
		case <-impatient:
			return all
		}
		if enough == nil {
			continue
		}
		switch at := slices.IndexFunc(all, enough); {
		case at < 0:
		case !slices.ContainsFunc(all[:at], func(d described) bool { return !d.asked }):
			return all
		case impatient == nil:
			impatient = time.After(patience)
		}
	}
	return all
}

func (h *Host) list() []described {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]described, 0, len(h.installed))
	for _, name := range slices.Sorted(maps.Keys(h.installed)) {
		all = append(all, described{runtime: h.installed[name]})
	}
	return all
}

// ask is describe with little patience for a runtime that failed before: it is started again, but the wait is short.
func (r *installed) ask(ctx context.Context) (yurt.RuntimeInfo, error) {
	failure := r.lastError()
	if failure == nil {
		return r.describe(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := r.describe(ctx)
	if err != nil && ctx.Err() != nil {
		err = failure
	}
	return info, err
}

// unchanged reports whether the binary is still the one that was discovered.
func (r *installed) unchanged() bool {
	info, err := os.Stat(r.path)
	return err == nil && binary.Identify(info) == r.id
}

// had reports whether the runtime offered the language when it last described itself.
func (r *installed) had(language string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info != nil && speaks(*r.info, language)
}

// untried reports whether the runtime has neither described itself nor failed to.
func (r *installed) untried() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info == nil && r.failure == nil
}

func notSupported(language string, all []described) error {
	var languages, broken []string
	for _, d := range all {
		if d.err != nil {
			broken = append(broken, d.runtime.name)
			continue
		}
		languages = append(languages, d.info.Languages...)
	}
	slices.Sort(languages)
	installed := "no language runtime is installed that works"
	if len(languages) > 0 {
		installed = "installed are " + strings.Join(slices.Compact(languages), ", ")
	}
	if len(broken) > 0 {
		installed += fmt.Sprintf(" (and %s, which cannot be asked)", strings.Join(broken, ", "))
	}
	return yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "language", "no runtime for language %s; %s", text.Quote(language), installed)
}
