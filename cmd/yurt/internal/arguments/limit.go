package arguments

import (
	"strconv"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
)

// Limit is the flag --limit of a command that lists: how many entries it shows at most. 0 is all.
type Limit int

// Add adds the flag. which says which entries are shown, such as "the newest".
func (l *Limit) Add(flags *pflag.FlagSet, which string) {
	flags.Var(l, "limit", "only "+which+" `N` (default: all)")
}

// Set implements pflag.Value.
func (l *Limit) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--limit", "it is no whole number from 1 on; leave it out for all entries")
	}
	*l = Limit(n)
	return nil
}

// String implements pflag.Value.
func (l *Limit) String() string {
	if *l == 0 {
		return ""
	}
	return strconv.Itoa(int(*l))
}

// Type implements pflag.Value.
func (l *Limit) Type() string { return "int" }

// First returns the first entries of a list, as many as the limit allows.
func First[T any](list []T, limit Limit) []T {
	if limit > 0 && len(list) > int(limit) {
		return list[:limit]
	}
	return list
}

// Last returns the last entries of a list, likewise.
func Last[T any](list []T, limit Limit) []T {
	if limit > 0 && len(list) > int(limit) {
		return list[len(list)-int(limit):]
	}
	return list
}
