package yurt

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Signal is a signal to an execution or a process.
type Signal int

// signals are those that can be sent by name, as Linux numbers them: the sandbox's
// numbers, whatever system the caller is on.
func signals() map[string]Signal {
	return map[string]Signal{
		"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "USR2": 12, "ALRM": 14,
		"TERM": 15, "CONT": 18, "STOP": 19, "TSTP": 20, "WINCH": 28,
	}
}

const maxSignal = 64

// SignalKill cannot be caught, and ends the whole tree of processes.
const SignalKill Signal = 9

// ParseSignal reads the name of a signal, such as "SIGINT" or "int", or its number.
func ParseSignal(field, text string) (Signal, error) {
	if n, err := strconv.Atoi(text); err == nil {
		return Signal(n), Signal(n).Validate(field)
	}
	if s, ok := signals()[strings.TrimPrefix(strings.ToUpper(text), "SIG")]; ok {
		return s, nil
	}
	return 0, FieldErrorf(CodeInvalidArgument, field, "there is no such signal; give a number from 1 to %d or one of %s",
		maxSignal, strings.Join(slices.Sorted(maps.Keys(signals())), ", "))
}

// Validate checks that there is such a signal.
func (s Signal) Validate(field string) error {
	if s < 1 || s > maxSignal {
		return FieldErrorf(CodeInvalidArgument, field, "there is no signal %d; give one from 1 to %d", s, maxSignal)
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
	return "signal " + strconv.Itoa(int(s))
}
