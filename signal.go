package yurt

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Signal is a signal to an execution or a process.
type Signal int

// signals are those that can be sent by name, as Linux numbers them on x86 and ARM: the sandbox's
// numbers, also for callers on other systems. Real-time signals are beside these, see [realTime].
func signals() map[string]Signal {
	return map[string]Signal{
		"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "USR1": 10,
		"SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "STKFLT": 16, "CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20,
		"TTIN": 21, "TTOU": 22, "URG": 23, "XCPU": 24, "XFSZ": 25, "VTALRM": 26, "PROF": 27, "WINCH": 28, "IO": 29, "PWR": 30, "SYS": 31,
	}
}

// signalAliases are other names that Linux has for some of them.
func signalAliases() map[string]Signal {
	return map[string]Signal{"IOT": 6, "CLD": 17, "POLL": 29, "UNUSED": 31}
}

// The real-time signals, as C programs see them: the library keeps the two before for itself.
const (
	minRealTime Signal = 34
	maxRealTime Signal = MaxSignal
)

// MaxSignal is the signal with the highest number.
const MaxSignal = 64

// SignalKill cannot be caught, and ends the whole tree of processes.
const SignalKill Signal = 9

// ParseSignal reads the name of a signal, such as "SIGINT", "int" or "SIGRTMIN+1", or its number.
func ParseSignal(field, text string) (Signal, error) {
	if n, err := strconv.Atoi(text); err == nil {
		return Signal(n), Signal(n).Validate(field)
	}
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	for _, known := range []map[string]Signal{signals(), signalAliases()} {
		if s, ok := known[name]; ok {
			return s, nil
		}
	}
	if s, ok := realTime(name); ok {
		return s, nil
	}
	return 0, FieldErrorf(CodeInvalidArgument, field, "there is no signal %q; give a number from 1 to %d, RTMIN, RTMIN+1 to RTMAX, or one of %s",
		text, MaxSignal, strings.Join(slices.Sorted(maps.Keys(signals())), ", "))
}

// realTime reads the name of a real-time signal: RTMIN, RTMAX, or one of them with a
// distance to it, such as RTMIN+3.
func realTime(name string) (Signal, bool) {
	base := minRealTime
	distance, ok := strings.CutPrefix(name, "RTMIN")
	if !ok {
		base = maxRealTime
		distance, ok = strings.CutPrefix(name, "RTMAX")
	}
	if !ok {
		return 0, false
	}
	if distance == "" {
		return base, true
	}
	n, err := strconv.Atoi(distance)
	s := base + Signal(n)
	return s, err == nil && strings.ContainsAny(distance[:1], "+-") && s >= minRealTime && s <= maxRealTime
}

// Validate checks that there is such a signal.
func (s Signal) Validate(field string) error {
	if s < 1 || s > MaxSignal {
		return FieldErrorf(CodeInvalidArgument, field, "there is no signal %d; give one from 1 to %d", s, MaxSignal)
	}
	return nil
}

// String returns the name, such as "SIGINT", or the number.
func (s Signal) String() string {
	for name, number := range signals() {
		if number == s {
			return "SIG" + name
		}
	}
	if s >= minRealTime && s <= maxRealTime {
		return "SIGRTMIN+" + strconv.Itoa(int(s-minRealTime))
	}
	return "signal " + strconv.Itoa(int(s))
}
