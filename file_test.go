package yurt

import (
	"errors"
	"testing"
)

// TestConditions: a condition allows the present ETag or not, and its error has that ETag.
func TestConditions(t *testing.T) {
	exists, absent := Condition{Match: []string{"*"}}, Condition{NoneMatch: []string{"*"}}
	for _, test := range []struct {
		condition Condition
		etag      string
		field     string // of the refusal; empty if it is allowed
	}{
		{Condition{}, "", ""},
		{Condition{}, `"a"`, ""},
		{Condition{Match: []string{`"b"`, `"a"`}}, `"a"`, ""},
		{Condition{Match: []string{`"b"`}}, `"a"`, "If-Match"},
		{Condition{Match: []string{`W/"a"`}}, `"a"`, "If-Match"},
		{Condition{Match: []string{`"b"`}}, "", "If-Match"},
		{exists, `"a"`, ""},
		{exists, "", "If-Match"},
		{absent, "", ""},
		{absent, `"a"`, "If-None-Match"},
		{Condition{NoneMatch: []string{`"a"`}}, `"a"`, "If-None-Match"},
		{Condition{NoneMatch: []string{`"b"`}}, `"a"`, ""},
	} {
		err := test.condition.Check("file a", test.etag)
		var coded *Error
		switch {
		case test.field == "" && err != nil:
			t.Errorf("%+v refuses %s: %v", test.condition, test.etag, err)
		case test.field != "" && (!errors.As(err, &coded) || coded.Code != CodePreconditionFailed || coded.Field != test.field || coded.ETag != test.etag):
			t.Errorf("%+v has the error %+v for %s, want one about %s with that ETag", test.condition, err, test.etag, test.field)
		}
	}
}
