package config

import (
	"context"
	"log/slog"
	"os"
	"slices"
)

// Reload takes over changed settings in a running server.
type Reload struct {
	Read  func() (*Settings, error)              // reads and checks everything anew
	Apply map[string]func(settings string) error // by the name of a reloadable setting in a file
	Also  func(ctx context.Context) error        // takes over more than settings; may be nil
	Ends  func() bool                            // reports whether a signal ends the server
	Log   *slog.Logger

	Current *Settings // in force
}

// Run takes over settings each time that told receives, until ctx ends. It reports whether a signal ends the server.
func (r *Reload) Run(ctx context.Context, told <-chan os.Signal) (ends bool) {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-told:
			if r.Ends() {
				return true
			}
			r.Take(ctx)
		}
	}
}

// Take takes over settings once. Settings that cannot be leave everything as it is.
func (r *Reload) Take(ctx context.Context) {
	next, err := r.Read()
	if err != nil {
		r.Log.Error("the settings have a mistake, so all former ones stay in force", "error", err)
		return
	}
	var taken, later []string
	for i, v := range next.Values {
		if v.text == r.Current.Values[i].text {
			continue
		}
		apply := r.Apply[v.Name]
		if apply == nil {
			later = append(later, v.Name)
			next.Values[i].text = r.Current.Values[i].text // still in force
			continue
		}
		if err := apply(v.text); err != nil {
			r.Log.Error("a setting is not taken over", "setting", v.Name, "error", err)
			next.Values[i].text = r.Current.Values[i].text
			continue
		}
		taken = append(taken, v.Name)
	}
	r.Current = next
	if r.Also != nil {
		if err := r.Also(ctx); err != nil {
			r.Log.Error("the settings were read, and a part of the server could not take over its files", "error", err)
		}
	}
	slices.Sort(taken)
	r.Log.Info("the settings were read again", "taken", taken, "need_restart", later)
}
