// Package compress compresses answers of the API by gzip or zstd, as the client accepts.
//
// It is for answers that come in one piece. The writer holds the first kilobyte back, so that streams must not pass through it. Neither
// answers below a kilobyte nor parts of a content are compressed, and not more than [most] answers at once: each takes memory of its own.
package compress

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

const (
	// least is the size from which on an answer is compressed. A smaller one fits into a packet as it is.
	least = 1024
	// most is how many answers are compressed at once; a compressor takes up to a megabyte. Further answers go out as they are.
	most = 32
)

// The ETag of a compressed answer, whose bytes are others than those of a plain one, has one of these at its end.
const (
	suffixGzip = "-gzip"
	suffixZstd = "-zstd" // which gzhttp makes of the other
)

// Plain returns the ETag of the plain answer for that of a compressed one.
func Plain(tag string) string {
	for _, suffix := range []string{suffixGzip, suffixZstd} {
		if head, ok := strings.CutSuffix(tag, suffix+`"`); ok {
			return head + `"`
		}
	}
	return tag
}

// New returns a function that has answers of a handler compressed if they are of one of the content types.
func New(contentTypes ...string) func(http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(least), gzhttp.SuffixETag(suffixGzip), gzhttp.ContentTypes(contentTypes))
	if err != nil {
		panic("compress: the options are wrong: " + err.Error())
	}
	slots := make(chan struct{}, most)
	return func(next http.Handler) http.Handler {
		compressed := wrap(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
				compressed(flusher{w}, r)
			default:
				w.Header().Add("Vary", "Accept-Encoding")
				next.ServeHTTP(w, r)
			}
		})
	}
}

// flusher flushes the writer below one that only unwraps; gzhttp does not look for it.
type flusher struct{ http.ResponseWriter }

// Flush implements http.Flusher.
func (f flusher) Flush() {
	_ = http.NewResponseController(f.ResponseWriter).Flush() // a writer without a connection has no need of it
}

// Unwrap lets http.ResponseController reach the connection.
func (f flusher) Unwrap() http.ResponseWriter { return f.ResponseWriter }
