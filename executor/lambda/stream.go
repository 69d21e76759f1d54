package lambda

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

const (
	modeHeader    = "Lambda-Runtime-Function-Response-Mode"
	modeStreaming = "streaming"
	// errorTruncated is the type of error that Lambda gives a streamed response which breaks off.
	errorTruncated = "Runtime.TruncatedResponse"
	// truncatedGrace is how long it then waits for the end of the process, which says more.
	truncatedGrace = time.Second
	pieceSize      = 32 << 10 // bytes that are read of a response at once
	maxPieces      = 10_000   // that are passed on as they come; from then on only full ones are
)

// Piece is a part of a streamed response, as it came. It is cut inside a UTF-8 character
// only where the response is not UTF-8.
type Piece struct {
	ID   string
	Data []byte
}

// takeStream reads a streamed response, and passes on each piece as it comes. Pieces cannot be taken back: a stream
// that breaks off is the answer.
func (s *Server) takeStream(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return
	}
	defer s.handling.Done()
	id := r.PathValue("id")
	if !s.beginStream(id) {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "no invocation of this id waits for a response")
		return
	}
	if !s.enter(s.pieces) {
		return
	}
	defer func() { <-s.pieces }()
	body, err := s.readStream(http.MaxBytesReader(w, r.Body, MaxBody), id)
	var tooLarge *http.MaxBytesError
	var answer Answer
	switch {
	case errors.As(err, &tooLarge):
		answer.Error = responseTooLarge()
	case err != nil:
		select {
		case <-s.closed: // the process ended, which its end says
			return
		case <-time.After(truncatedGrace):
		}
		answer.Error = &yurt.ExecutionError{
			Type: errorTruncated, Message: fmt.Sprintf("the streamed response broke off after %d bytes", len(body)), Stacktrace: []string{},
		}
	default:
		if answer.Error = streamError(r); answer.Error == nil {
			answer.Result, answer.Error = decodeResult(body)
		}
	}
	s.answer(w, id, answer, tooLarge != nil)
}

// beginStream makes the caller the one whose response is passed on.
func (s *Server) beginStream(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" || s.current != id || s.streaming == id {
		return false
	}
	s.streaming = id
	return true
}

// readStream returns all of a response that came, in pieces, until it ended or broke off.
func (s *Server) readStream(from io.Reader, id string) ([]byte, error) {
	var all bytes.Buffer
	buffer := make([]byte, pieceSize)
	held, pieces := 0, 0 // held: bytes at the beginning of the buffer, of a character that is not whole
	for {
		n, err := from.Read(buffer[held:])
		all.Write(buffer[held : held+n])
		piece := buffer[:held+n]
		switch held = 0; {
		case err != nil:
		case pieces >= maxPieces && len(piece) < pieceSize:
			held = len(piece)
		default:
			held = unfinished(piece)
		}
		if whole := piece[:len(piece)-held]; len(whole) > 0 && s.isCurrent(id) {
			s.told.Piece(Piece{ID: id, Data: bytes.Clone(whole)})
			pieces++
		}
		copy(buffer, piece[len(piece)-held:])
		switch {
		case errors.Is(err, io.EOF):
			return all.Bytes(), nil
		case err != nil:
			return all.Bytes(), fmt.Errorf("reading a streamed response: %w", err)
		}
	}
}

// unfinished is how many bytes at the end of data are the beginning of a UTF-8 character.
func unfinished(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if tail := data[len(data)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// isStreamed reports whether the response must be passed on as it comes. The client for Go names no mode: it has
// trailers for all responses, and encodes JSON at once.
func isStreamed(r *http.Request) bool {
	if mode := r.Header.Get(modeHeader); mode != "" {
		return strings.EqualFold(mode, modeStreaming)
	}
	_, trailers := r.Trailer[errorTypeHeader]
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return trailers && (err != nil || kind != "application/json")
}

// streamError returns the error that a streamed response ended with, which comes in
// trailers, or nil.
func streamError(r *http.Request) *yurt.ExecutionError {
	kind, encoded := r.Trailer.Get(errorTypeHeader), r.Trailer.Get(errorBodyHeader)
	if kind == "" && encoded == "" {
		return nil
	}
	body, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		body = nil
	}
	return decodeError(body, kind)
}
