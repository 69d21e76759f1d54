package seccomp

import (
	"slices"
	"syscall"
)

// Group is the calls of one subject.
type Group struct {
	Name   string
	Reason string // why code has these calls, and which related ones it has not
	Rules  []Rule
}

// Rule is about calls that are made with certain arguments.
type Rule struct {
	Calls []string
	When  []Condition // all of which must hold; there is at most one for each argument
	// Answer is the error that the call has, without being made; [Allow] makes it.
	Answer syscall.Errno
}

// Answers that are no errors.
const (
	Allow   = syscall.Errno(0)
	Pretend = syscall.Errno(1<<16 - 1) // the call succeeds, and has no effect
)

// Condition is about one argument: its bits in Mask are Value, or, if Not is set, are others.
// A mask with Not has all bits.
type Condition struct {
	Arg         uint
	Mask, Value uint64
	Not         bool
}

// Holds reports whether an argument of that value meets the condition.
func (c Condition) Holds(value uint64) bool { return (value&c.Mask == c.Value) != c.Not }

// Masks of arguments.
const (
	whole = 1<<64 - 1
	// half is the part of a register that the kernel takes as an int. Some C libraries leave bits in
	// the rest of the register, which no condition on an int looks at.
	half = 1<<32 - 1
)

func is(arg uint, value uint64) Condition {
	return Condition{Arg: arg, Mask: half, Value: value & half}
}

func without(arg uint, bits uint64) Condition { return Condition{Arg: arg, Mask: bits} }

func with(arg uint, bits uint64) Condition { return Condition{Arg: arg, Mask: bits, Value: bits} }

func null(arg uint) Condition { return Condition{Arg: arg, Mask: whole} }

func given(arg uint) Condition { return Condition{Arg: arg, Mask: whole, Not: true} }

func allow(calls ...string) Rule { return Rule{Calls: calls} }

func allowIf(call string, when ...Condition) Rule { return Rule{Calls: []string{call}, When: when} }

func answer(errno syscall.Errno, call string, when ...Condition) Rule {
	return Rule{Calls: []string{call}, When: when, Answer: errno}
}

// each is a rule for each value of the argument, which is an int, beside the other conditions.
func each(answer syscall.Errno, call string, arg uint, values []uint64, when ...Condition) []Rule {
	rules := make([]Rule, len(values))
	for i, value := range values {
		rules[i] = Rule{Calls: []string{call}, When: append(slices.Clone(when), is(arg, value)), Answer: answer}
	}
	return rules
}

// Base is the list of every sandbox.
func Base() []Group {
	return []Group{files(), watches(), pipes(), memory(), processes(), forks(), identity(), signals(), clocks(), scheduling(), sysV(), sockets(), options(), requests()}
}

// Groups that a template may add, see [yurt.SystemCallGroups].
const (
	Ptrace   = "ptrace"
	PerfSelf = "perf-self"
)

// Devices is added for a sandbox that has devices of the host: their drivers define the requests.
const Devices = "devices"

// Named returns the group of that name, which a sandbox has beside [Base] if its template adds it,
// or for its devices.
func Named(name string) (Group, bool) {
	switch name {
	case Ptrace:
		return ptrace(), true
	case PerfSelf:
		return perfSelf(), true
	case Devices:
		return devices(), true
	}
	return Group{}, false
}

// For returns the list of a sandbox with the named groups. Groups of other names it leaves out.
func For(names []string) []Group {
	list := Base()
	for _, name := range names {
		if group, ok := Named(name); ok {
			list = append(list, group)
		}
	}
	return list
}
