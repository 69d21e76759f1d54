// Package wholebody reads bodies of requests that are held in memory as a whole.
package wholebody

import (
	"bytes"
	"net/http"
)

// ahead is how much memory a body gets before its bytes come. A client that says a length and sends no bytes costs no more.
const ahead = 8 << 20

// Read reads the body of a request, of at most limit bytes. A longer one is an [http.MaxBytesError]. The buffer has the length that the
// request says from the start: one that grows piece by piece costs several times the memory of the body.
func Read(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	room := min(max(r.ContentLength, 0), limit, ahead)
	buffer := bytes.NewBuffer(make([]byte, 0, room+bytes.MinRead)) // a read at the end needs room, too
	_, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	return buffer.Bytes(), err
}
