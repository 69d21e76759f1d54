// Package paging cuts the lists of the API into pages.
//
// A page ends with a cursor, which names the position of its last entry. The next page has the entries after that position, so that
// entries which come or go in between neither repeat nor hide another one.
package paging

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

const refused = "this is no cursor of this list; use the next_cursor of the page before"

// Params is how a list of a store is paged.
type Params struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Entries per page."`
	Cursor string `query:"cursor" maxLength:"256" pattern:"^[A-Za-z0-9_-]*$" patternDescription:"the next_cursor of a page" doc:"next_cursor of the previous page."`
}

// WholeParams is how a list that seldom needs a second page is paged. Its pages are as large as pages can be, so that clients that
// read one page alone still see whole lists.
type WholeParams struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"500" doc:"Entries per page."`
	Cursor string `query:"cursor" maxLength:"256" pattern:"^[A-Za-z0-9_-]*$" patternDescription:"the next_cursor of a page" doc:"next_cursor of the previous page."`
}

// format writes a position. Clients must not look into it.
func format(p contract.Position) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.CreatedAt.UnixNano(), 10) + "/" + p.ID))
}

// parse reverses format; the empty cursor is the start.
func parse(cursor string) (contract.Position, error) {
	if cursor == "" {
		return contract.Position{}, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		nanos, id, ok := strings.Cut(string(text), "/")
		at, err := strconv.ParseInt(nanos, 10, 64)
		if ok && err == nil && id != "" {
			return contract.Position{CreatedAt: time.Unix(0, at).UTC(), ID: id}, nil
		}
	}
	return contract.Position{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "cursor", refused)
}

// Page reads the cursor of a request, calls list with one entry more than a page has, and returns a page with the cursor of the next.
func Page[T any](params Params, list func(before contract.Position, limit int) ([]T, error), position func(T) contract.Position) ([]T, string, error) {
	before, err := parse(params.Cursor)
	if err != nil {
		return nil, "", err
	}
	found, err := list(before, params.Limit+1)
	if err != nil {
		return nil, "", err
	}
	page, next := cut(found, params.Limit, position)
	return page, next, nil
}

// Cut returns a page of a list that is here whole, with the cursor of the next. It leaves out the entries that drop names, which may be
// nil. The page is in the order of the positions, of which each entry has its own.
func Cut[T any](params WholeParams, list []T, drop func(T) bool, position func(T) contract.Position) ([]T, string, error) {
	after, err := parse(params.Cursor)
	if err != nil {
		return nil, "", err
	}
	var left []T // a list may be the controller's own
	for _, entry := range list {
		if (drop == nil || !drop(entry)) && (after.IsZero() || compare(position(entry), after) > 0) {
			left = append(left, entry)
		}
	}
	slices.SortFunc(left, func(a, b T) int { return compare(position(a), position(b)) })
	page, next := cut(left, params.Limit, position)
	return page, next, nil
}

// compare orders positions, the oldest first. A time that was in a cursor is equal to itself.
func compare(a, b contract.Position) int {
	return cmp.Or(cmp.Compare(a.CreatedAt.UnixNano(), b.CreatedAt.UnixNano()), strings.Compare(a.ID, b.ID))
}

// Named is the position of an entry in a list by name.
func Named(name string) contract.Position { return contract.Position{ID: name} }

// Numbered is the position of an entry in a list by number.
func Numbered(n int) contract.Position {
	return contract.Position{CreatedAt: time.Unix(0, int64(n)), ID: "n"}
}

// cut shortens a list that has one entry more than a page, if another page follows.
func cut[T any](list []T, limit int, position func(T) contract.Position) ([]T, string) {
	if len(list) <= limit {
		return OrEmpty(list), ""
	}
	list = list[:limit]
	return list, format(position(list[limit-1]))
}

// OrEmpty makes a list that is written as [] and not as null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// CheckTimes refuses times without text. They are no times, and huma takes them for parameters that are not there.
func CheckTimes(ctx huma.Context, names ...string) []error {
	at := ctx.URL()
	for _, name := range names {
		if values := at.Query()[name]; len(values) > 0 && values[0] == "" {
			err := yurt.FieldErrorf(yurt.CodeInvalidArgument, name, "the value is empty; give a time such as 2026-01-31T12:00:00Z, or leave it out")
			return []error{&huma.ErrorDetail{Message: err.Error(), Value: err}} // huma keeps no error but one of its own
		}
	}
	return nil
}
