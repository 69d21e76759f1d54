package yurt_test

import (
	"testing"

	"github.com/yurtrun/yurt"
)

func TestParseSignal(t *testing.T) {
	for text, want := range map[string]yurt.Signal{
		"SIGINT": 2, "int": 2, "Kill": 9, "15": 15, "sigwinch": 28, "64": 64,
		"SIGPIPE": 13, "prof": 27, "SIGIO": 29, "SIGPOLL": 29, "SIGIOT": 6, "TTIN": 21, "SIGSYS": 31,
		"SIGRTMIN": 34, "rtmin+3": 37, "SIGRTMIN+30": 64, "SIGRTMAX": 64, "SIGRTMAX-30": 34,
	} {
		if got, err := yurt.ParseSignal("signal", text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "SIG", "NONE", "0", "-1", "65", "2 ", "99999999999999999999",
		"SIGRTMIN+31", "SIGRTMIN-1", "SIGRTMAX+1", "SIGRTMIN3", "SIGRTMIN+", "SIGRT",
	} {
		if got, err := yurt.ParseSignal("signal", text); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	if got := yurt.Signal(2).String() + " " + yurt.Signal(40).String() + " " + yurt.Signal(33).String(); got != "SIGINT SIGRTMIN+6 signal 33" {
		t.Errorf("they are called %q", got)
	}
}
