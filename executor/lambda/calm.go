package lambda

import (
	"net/http"
	"time"
)

// calm has requests wait that are more than an invocation needs.
func (s *Server) calm(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.isTooMany() {
			select {
			case <-time.After(requestPause):
			case <-s.closed:
				return
			case <-r.Context().Done():
				return
			}
		}
		handler.ServeHTTP(w, r)
	})
}

func (s *Server) isTooMany() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	return s.requests > maxRequests
}
