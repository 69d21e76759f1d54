// Package turns queues callers of several groups, such as tenants, and gives the groups turns: a group with a thousand callers delays
// the only caller of another group by one.
package turns

import "slices"

// Line is a queue of callers. Each is a value that tells it from the others. The zero value is an empty line. The caller of its methods
// holds a lock.
type Line[T comparable] struct {
	groups map[string][]T // of each group that has callers, in the order in which they came
	order  []string       // the groups, the next one first
	length int
}

// Len returns how many callers wait.
func (l *Line[T]) Len() int { return l.length }

// Waiting returns how many callers of a group wait.
func (l *Line[T]) Waiting(group string) int { return len(l.groups[group]) }

// Add puts a caller at the end of its group.
func (l *Line[T]) Add(group string, caller T) {
	if l.groups == nil {
		l.groups = map[string][]T{}
	}
	if len(l.groups[group]) == 0 {
		l.order = append(l.order, group)
	}
	l.groups[group] = append(l.groups[group], caller)
	l.length++
}

// Next takes the first caller of the next group out of the line. The group comes next again after all others.
func (l *Line[T]) Next() (caller T, ok bool) {
	if l.length == 0 {
		return caller, false
	}
	group := l.order[0]
	l.order = append(l.order[1:], group)
	caller = l.groups[group][0]
	l.cut(group, 0)
	return caller, true
}

// Remove takes a caller out of the line. It reports whether the caller was there.
func (l *Line[T]) Remove(group string, caller T) bool {
	i := slices.Index(l.groups[group], caller)
	if i >= 0 {
		l.cut(group, i)
	}
	return i >= 0
}

// Displace makes room for a caller of a group: it takes out the last caller of the longest group. A group that is to be as long as
// the longest displaces no caller.
func (l *Line[T]) Displace(by string) (caller T, ok bool) {
	longest := by
	for _, group := range l.order {
		if len(l.groups[group]) > len(l.groups[longest]) {
			longest = group
		}
	}
	if len(l.groups[longest]) <= len(l.groups[by])+1 {
		return caller, false
	}
	last := len(l.groups[longest]) - 1
	caller = l.groups[longest][last]
	l.cut(longest, last)
	return caller, true
}

// cut removes one caller, and the group with its last one.
func (l *Line[T]) cut(group string, i int) {
	l.length--
	rest := slices.Delete(l.groups[group], i, i+1)
	if len(rest) > 0 {
		l.groups[group] = rest
		return
	}
	delete(l.groups, group)
	l.order = slices.DeleteFunc(l.order, func(name string) bool { return name == group })
}
