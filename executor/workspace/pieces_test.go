package workspace

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"testing/iotest"
)

// Sizes around those of the pieces in which content is copied.
const (
	firstPiece = 32 << 10
	piece      = 256 << 10
)

// TestPieces: a file has the content that came, however it was cut into pieces.
func TestPieces(t *testing.T) {
	a := newArena(t)
	random := rand.NewChaCha8([32]byte{})
	for _, size := range []int{0, 1, firstPiece - 1, firstPiece, firstPiece + 1, firstPiece + piece, firstPiece + piece + 1, firstPiece + 3*piece} {
		content := make([]byte, size)
		random.Read(content)
		for how, reader := range map[string]func(io.Reader) io.Reader{"halves": iotest.HalfReader, "an end with the last ones": iotest.DataErrReader} {
			if _, err := a.Write("f", reader(bytes.NewReader(content)), int64(size), 0); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(a.in + "/f"); err != nil || !bytes.Equal(got, content) {
				t.Errorf("of %d bytes, in %s, %d are there, %v", size, how, len(got), err)
			}
		}
	}
}

// TestWhatIsCutOff: a client that leaves midway through a write has not changed the file, whichever error the reader
// returns; pieces that it appended stay.
func TestWhatIsCutOff(t *testing.T) {
	a := newArena(t)
	for _, cut := range []error{io.ErrUnexpectedEOF, io.ErrClosedPipe} {
		for _, size := range []int{0, 10, firstPiece, firstPiece + piece + 10} {
			content := func() io.Reader { return io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(cut)) }
			if _, err := a.Write("whole", content(), 1<<20, 0); !errors.Is(err, cut) {
				t.Errorf("after %d bytes: %v", size, err)
			}
			if _, err := a.Append("added", content(), 1<<20, 0); !errors.Is(err, cut) {
				t.Errorf("after %d bytes that are added: %v", size, err)
			}
			if info, err := os.Stat(a.in + "/added"); err != nil || info.Size() != int64(size) {
				t.Errorf("of %d bytes that were added there are %+v, %v", size, info, err)
			}
			if err := a.RemoveAll("added"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if entries, err := os.ReadDir(a.in); err != nil || len(entries) != 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}
