package httpapi

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// PageParams is how a list is paged; exported as [SessionParams] is.
type PageParams struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Entries a page."`
	Cursor string `query:"cursor" maxLength:"256" doc:"next_cursor of the page before."`
}

// formatCursor writes a position. Clients must not look into it.
func formatCursor(p contract.Position) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.CreatedAt.UnixNano(), 10) + "/" + p.ID))
}

// parseCursor reverses formatCursor; the empty cursor is the start.
func parseCursor(cursor string) (contract.Position, error) {
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
	return contract.Position{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "cursor", "this is no cursor of this list; use the next_cursor of the page before")
}

// nextPage cuts a list that was read with one entry more than a page has, and
// returns the cursor of the page that follows, if one does.
func nextPage[T any](list []T, limit int, position func(T) contract.Position) ([]T, string) {
	if len(list) <= limit {
		return orEmpty(list), ""
	}
	list = list[:limit]
	return list, formatCursor(position(list[limit-1]))
}

// orEmpty makes a list that is written as [] and not as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
