package once

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/internal/wholebody"
)

const (
	maxBody   = 64 << 20 // of a request with a key, as of any request in JSON
	readLimit = time.Minute
	maxAnswer = 64 << 10
)

// read returns the record of a request, whose body it reads.
func (r *Requests) read(w http.ResponseWriter, req *http.Request) (Record, error) {
	key := req.Header.Get(Header)
	if len(key) > MaxKey {
		return Record{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, Header, "%d bytes are too long; at most %d are allowed", len(key), MaxKey)
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(readLimit)) // a test without a connection has no deadlines
	body, err := wholebody.Read(w, req, maxBody)
	_ = conn.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return Record{}, yurt.Errorf(yurt.CodeBodyTooLarge, "the body is larger than the %s that are allowed with an %s", yurt.Size(maxBody), Header)
	case err != nil:
		return Record{}, yurt.Errorf(yurt.CodeMalformedBody, "the body did not arrive whole")
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s\n%s\n", req.Method, req.URL.RequestURI(), req.Header.Get("Content-Type"))
	hash.Write(body)
	return Record{Key: keyOf(req.Context(), key), Claim: rand.Text(), Hash: hex.EncodeToString(hash.Sum(nil)), At: r.now().UTC()}, nil
}

// keyOf tells the keys of tenants apart, and those of session tokens. It is a hash, so that a key may have any bytes.
func keyOf(ctx context.Context, key string) string {
	session := ""
	if caller, known := access.From(ctx); known {
		session = caller.Session
	}
	hash := sha256.Sum256([]byte(access.TenantOf(ctx) + "\x00" + session + "\x00" + key))
	return hex.EncodeToString(hash[:])
}

// call is a request with a key as it is carried out.
type call struct {
	execution string // that it began, now or at its first try
	begin     func(ctx context.Context, execution string)
	refused   bool // though its answer, a stream, began as that of a success
}

type callKey struct{}

func with(ctx context.Context, c *call) context.Context { return context.WithValue(ctx, callKey{}, c) }

// Execution returns the execution that an earlier request with the same key began; it is empty for a first request.
func Execution(ctx context.Context) string {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c.execution
	}
	return ""
}

// Began notes the execution that a request began. Further requests with the same key are about that execution.
func Began(ctx context.Context, execution string) {
	if c, ok := ctx.Value(callKey{}).(*call); ok && c.begin != nil {
		c.execution = execution
		c.begin(ctx, execution)
	}
}

// Refused notes that a request had no effect, whose answer is a stream that began before this was known. Its key is free again.
func Refused(ctx context.Context) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.refused = true
	}
}

// recorder holds back an answer of JSON until it is stored. Other answers pass through: streams, files, large answers, and those
// that no cache may store since they have a secret.
type recorder struct {
	http.ResponseWriter
	call   *call
	status int
	body   bytes.Buffer
	passes bool
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	kind := w.Header().Get("Content-Type")
	if w.call.execution != "" || kind != "" && !strings.Contains(kind, "json") || strings.Contains(w.Header().Get("Cache-Control"), "no-store") {
		w.pass()
	}
}

// pass sends the bytes that were held back, and those that come.
func (w *recorder) pass() {
	w.passes = true
	w.ResponseWriter.WriteHeader(w.status)
	if w.body.Len() > 0 {
		_, _ = w.ResponseWriter.Write(w.body.Bytes()) // the next write has the error again
		w.body.Reset()
	}
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.passes && w.body.Len()+len(data) > maxAnswer {
		w.pass()
	}
	if w.passes {
		return w.ResponseWriter.Write(data)
	}
	return w.body.Write(data)
}

// FlushError implements the flush of http.ResponseController.
func (w *recorder) FlushError() error {
	if !w.passes {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// send ends the answer.
func (w *recorder) send() {
	if w.status != 0 && !w.passes {
		w.pass()
	}
}

func (w *recorder) answer() Answer {
	if w.passes {
		return Answer{Status: w.status, Dropped: true}
	}
	return Answer{Status: w.status, Type: w.Header().Get("Content-Type"), Location: w.Header().Get("Location"), Body: bytes.Clone(w.body.Bytes())}
}

// write answers as before.
func (a *Answer) write(w http.ResponseWriter) {
	for name, value := range map[string]string{"Content-Type": a.Type, "Location": a.Location} {
		if value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // a client that left needs no error
}
