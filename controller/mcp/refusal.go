package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	maxSeen        = 1 << 20 // bytes of a request that are searched for its id
	maxRefusal     = 4 << 10 // bytes of the library's words
	unknownRequest = "JSON RPC not handled"
)

// serveJSON has next serve a request. Where the library refuses a message in plain text, the answer becomes an error of JSON-RPC,
// which a client can tell from a fault of a proxy.
func serveJSON(next http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		next.ServeHTTP(w, r)
		return
	}
	answer := &refusal{ResponseWriter: w, seen: &head{left: maxSeen}, words: &head{left: maxRefusal}}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, answer.seen), r.Body}
	next.ServeHTTP(answer, r)
	answer.send()
}

// refusal holds an answer back that refuses a message in plain text.
type refusal struct {
	http.ResponseWriter
	seen  *head // of the request
	words *head
	held  bool
}

// Unwrap lets http.ResponseController reach the connection.
func (a *refusal) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *refusal) WriteHeader(status int) {
	if a.held = status == http.StatusBadRequest && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain"); !a.held {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (a *refusal) Write(data []byte) (int, error) {
	if a.held {
		return a.words.Write(data)
	}
	return a.ResponseWriter.Write(data)
}

// send sends the answer that was held back. A revision with connections has the answer to an unknown method as that to any other
// request, since its clients give up a connection whose requests fail by their status.
func (a *refusal) send() {
	if !a.held {
		return
	}
	code, status, words := int64(jsonrpc.CodeInvalidRequest), http.StatusBadRequest, strings.TrimSpace(a.words.String())
	id := idOf(a.seen.Bytes())
	switch {
	case a.seen.Len() > 0 && a.seen.left > 0 && !json.Valid(a.seen.Bytes()):
		code = jsonrpc.CodeParseError
	case strings.HasPrefix(words, unknownRequest):
		code = jsonrpc.CodeMethodNotFound
		if id.IsValid() {
			status = http.StatusOK
		}
	}
	data, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: code, Message: words}})
	if err != nil {
		http.Error(a.ResponseWriter, words, status)
		return
	}
	a.Header().Set("Content-Type", "application/json")
	a.ResponseWriter.WriteHeader(status)
	_, _ = a.ResponseWriter.Write(data) // a client that is gone needs no answer
}

// idOf returns the id of a message, if it has one.
func idOf(message []byte) jsonrpc.ID {
	var named struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(message, &named) != nil {
		return jsonrpc.ID{}
	}
	id, err := jsonrpc.MakeID(named.ID)
	if err != nil {
		return jsonrpc.ID{}
	}
	return id
}

// head keeps the first bytes that are written to it.
type head struct {
	bytes.Buffer
	left int
}

// Write implements io.Writer. It takes all bytes.
func (h *head) Write(data []byte) (int, error) {
	kept := data[:min(len(data), h.left)]
	h.left -= len(kept)
	h.Buffer.Write(kept)
	return len(data), nil
}
