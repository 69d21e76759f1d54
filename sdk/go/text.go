package yurtclient

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

// checkText refuses a body with text that is not UTF-8: JSON has no place for such bytes, and the encoder would replace them.
func checkText(body any) error {
	if field, bad := notText(reflect.ValueOf(body), ""); bad {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "it holds bytes that are not UTF-8; give text, and write other bytes to a file with Files.Write")
	}
	return nil
}

// notText returns the name of the first member whose text is not UTF-8. Members inside of it have its name.
func notText(v reflect.Value, name string) (field string, bad bool) {
	switch v.Kind() {
	case reflect.String:
		return name, !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return notText(v.Elem(), name)
	case reflect.Struct:
		for i := 0; i < v.NumField() && !bad; i++ {
			field, bad = notText(v.Field(i), memberOf(v.Type().Field(i), name))
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next() && !bad; {
			if field, bad = notText(entries.Key(), name); !bad {
				field, bad = notText(entries.Value(), name)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := 0; v.Type().Elem().Kind() != reflect.Uint8 && i < v.Len() && !bad; i++ {
			field, bad = notText(v.Index(i), name)
		}
	}
	return field, bad
}

// memberOf returns the name of a field in JSON, or that of the member around it.
func memberOf(field reflect.StructField, around string) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if around != "" || name == "" || name == "-" {
		return around
	}
	return name
}
