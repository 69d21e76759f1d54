// Package conditional has answers that depend on the content that a client has already: by its ETag it is not sent again, or a range of
// it alone.
package conditional

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi/internal/compress"
)

// Headers documents the header of an answer that has a tag.
func Headers() map[string]*huma.Param {
	return map[string]*huma.Param{"ETag": {Schema: &huma.Schema{Type: huma.TypeString}, Description: "Identifies the content: it changes with each change of the content."}}
}

// NotModifiedResponse documents the answer to a client that has the content.
func NotModifiedResponse() *huma.Response {
	return &huma.Response{Description: "Not modified: the client has the content already, as If-None-Match says.", Headers: Headers()}
}

// NotModified sets the tag of an answer, and answers a client that has the content, by its If-None-Match.
func NotModified(ctx huma.Context, has, tag string) bool {
	ctx.SetHeader("ETag", tag)
	if !hasTag(has, tag) {
		return false
	}
	ctx.SetStatus(http.StatusNotModified)
	return true
}

// Condition returns the condition of the two headers for it. By RFC 9110 a weak tag in If-Match matches no
// content.
func Condition(match, noneMatch string) (yurt.Condition, error) {
	var c yurt.Condition
	var err error
	if c.Match, err = tags("If-Match", match); err != nil {
		return yurt.Condition{}, err
	}
	c.NoneMatch, err = tags("If-None-Match", noneMatch)
	for i, tag := range c.NoneMatch {
		c.NoneMatch[i] = strings.TrimPrefix(tag, "W/")
	}
	return c, err
}

// tags returns the tags of a list, those of compressed answers as those of plain ones.
func tags(header, list string) (all []string, err error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		bare := strings.TrimPrefix(one, "W/")
		if one != "*" && (len(bare) < len(`""`) || bare[0] != '"' || bare[len(bare)-1] != '"') {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, header, "the value is no list of ETags; give \"*\", or ETags in their quotes as answers have them")
		}
		all = append(all, compress.Plain(one))
	}
	return all, nil
}

// hasTag reports whether a list of tags has one, also as that of a compressed answer.
func hasTag(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == "*" || one == tag || compress.Plain(one) == tag {
			return true
		}
	}
	return false
}

// Open opens the part of a file that a Range header asks for. It opens the whole file where the client has a part of another content, as
// its If-Range says.
func Open(ranges, ifRange string, read func(yurt.Span) (io.ReadCloser, yurt.FileInfo, error)) (io.ReadCloser, yurt.FileInfo, yurt.Span, error) {
	span := parseRange(ranges)
	content, info, err := read(span)
	if ifRange == "" || span == (yurt.Span{}) {
		return content, info, span, err
	}
	switch {
	case yurt.CodeOf(err) == yurt.CodeRangeNotSatisfiable:
	case err != nil || ifRange == info.ETag:
		return content, info, span, err
	default:
		_ = content.Close()
	}
	content, info, err = read(yurt.Span{})
	return content, info, yurt.Span{}, err
}

// parseRange parses a Range header of one range. RFC 9110 has a server ignore all other ranges, and send the whole file.
func parseRange(header string) yurt.Span {
	text, ok := strings.CutPrefix(header, "bytes=")
	from, to, found := strings.Cut(text, "-")
	if !ok || !found {
		return yurt.Span{}
	}
	first, firstErr := strconv.ParseInt(from, 10, 64)
	last, lastErr := strconv.ParseInt(to, 10, 64)
	switch {
	case from == "" && lastErr == nil && last == 0:
		return yurt.Span{Offset: math.MaxInt64} // an empty part, past the end of every file
	case from == "" && lastErr == nil && last > 0:
		return yurt.Span{Offset: -last}
	case firstErr != nil || first < 0:
		return yurt.Span{}
	case to == "":
		return yurt.Span{Offset: first, Length: math.MaxInt64}
	case lastErr != nil || last < first:
		return yurt.Span{}
	default:
		return yurt.Span{Offset: first, Length: min(last-first, math.MaxInt64-1) + 1}
	}
}
