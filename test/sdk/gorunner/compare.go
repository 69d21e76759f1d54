package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// plain returns a value as JSON has it.
func plain(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return err.Error()
	}
	return decoded
}

// compare compares a value of JSON with the expectation of a scenario.
func compare(want, got any, place string) error {
	members, ok := want.(map[string]any)
	object, isObject := got.(map[string]any)
	switch {
	case ok && isCheck(members):
		if !holds(members, got) {
			return fmt.Errorf("%s is %v; expected %v", place, got, want)
		}
	case ok && (isObject || len(members) == 0):
		for name, value := range members {
			if err := compare(value, object[name], place+"."+name); err != nil {
				return err
			}
		}
	case !reflect.DeepEqual(want, got):
		return fmt.Errorf("%s is %#v; expected %#v", place, got, want)
	}
	return nil
}

func isCheck(members map[string]any) bool {
	for name := range members {
		return strings.HasPrefix(name, "$")
	}
	return false
}

func holds(checks map[string]any, got any) bool {
	for name, bound := range checks {
		number, _ := got.(float64)
		limit, _ := bound.(float64)
		switch name {
		case "$gte":
			if number < limit {
				return false
			}
		case "$lte":
			if number > limit {
				return false
			}
		case "$matches":
			if !regexp.MustCompile(fmt.Sprint(bound)).MatchString(fmt.Sprint(got)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
