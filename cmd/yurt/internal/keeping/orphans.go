package keeping

import (
	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/fleet"
)

// Orphans is a [fleet.OrphanPolicy].
type Orphans string

// Add adds the flag.
func (f *Orphans) Add(flags *pflag.FlagSet) {
	flags.StringVar((*string)(f), "adopt-orphans", "", "keep or destroy running sandboxes that the store does not know (default: destroy them where the store knows other running sandboxes, and refuse to start otherwise)")
}

// Check refuses a value that is no policy.
func (f *Orphans) Check() error {
	switch policy := fleet.OrphanPolicy(*f); policy {
	case fleet.OrphansRefuse, fleet.OrphansKeep, fleet.OrphansDestroy:
		return nil
	default:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--adopt-orphans", "%q is not allowed; give keep or destroy, or leave it out to have the server refuse to start", policy)
	}
}
