package hcl

import (
	"slices"

	"github.com/yurtrun/yurt"
)

// cleanDependencies returns the lists that have any package, each package once and in order: lists with one meaning are equal.
// It does not change its argument.
func cleanDependencies(lists map[string][]string) map[string][]string {
	clean := make(map[string][]string, len(lists))
	for name, list := range lists {
		if len(list) > 0 {
			clean[name] = slices.Compact(slices.Sorted(slices.Values(list)))
		}
	}
	if len(clean) == 0 {
		return nil
	}
	return clean
}

func (f *faultList) dependencies(t yurt.Template) {
	for _, name := range keysOf(t.Dependencies) {
		field := "dependencies" + member(name)
		list := t.Dependencies[name]
		if !slices.Contains(t.Runtimes, name) {
			f.add(yurt.CodeInvalidArgument, field, "%q is none of the template's runtimes; add it to those, or take the packages away", name)
			continue
		}
		if len(list) > yurt.MaxDependencies {
			f.check(field, yurt.ValidateDependencies(field, list))
			continue
		}
		for i, dependency := range list {
			f.check(field+index(i), yurt.ValidateDependencies(field, []string{dependency}))
		}
	}
}
