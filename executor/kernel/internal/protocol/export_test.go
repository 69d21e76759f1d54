package protocol

// Scan removes the marks from output that comes in pieces.
func Scan(pieces ...[]byte) (text string, marks []string) {
	var s scanner
	keep := func(piece []byte) { text += string(piece) }
	for _, piece := range pieces {
		s.scan(piece, keep, func(id string) { marks = append(marks, id) })
	}
	s.flush(keep)
	return text, marks
}
