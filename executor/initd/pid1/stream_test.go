package pid1

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt/executor/initd"
)

func testProcess(t testing.TB) *process {
	t.Helper()
	p, child, err := newProcess(initd.StartRequest{ID: "exe_1"}, [3]*os.File{}, newBuffers(), func() int { return maxUnacked })
	if err != nil {
		t.Fatal(err)
	}
	child.close()
	p.discard()
	return p
}

// pipeOf returns a reader of a pipe, and where a process would write to it.
func pipeOf(t testing.TB, p *process, limit int64) (*streamReader, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return newStreamReader(p, initd.Stdout, r, limit, newBuffers()), w
}

// collect takes chunks as the host does until the process has ended.
func collect(p *process) (chunks []initd.Chunk) {
	for seq := uint64(0); ; {
		list, exit := p.wait(seq, func() bool { return false })
		if exit != nil || list == nil {
			return chunks
		}
		for _, c := range list {
			seq = c.Seq
			chunks = append(chunks, initd.Chunk{Seq: c.Seq, Stream: c.Stream, Data: bytes.Clone(c.Data)})
		}
		p.ack(seq)
	}
}

func end(p *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exit = &initd.Exit{}
	p.changed.Broadcast()
}

// streamed sends the pieces through a reader and returns the chunks that come out.
func streamed(t testing.TB, pieces [][]byte, limit int64) (chunks []initd.Chunk, total int64) {
	t.Helper()
	p := testProcess(t)
	reader, w := pipeOf(t, p, limit)
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer w.Close()
		for _, piece := range pieces {
			w.Write(piece)
		}
	}()
	go func() {
		<-written
		total = reader.drain()
		end(p)
	}()
	go reader.run()
	return collect(p), total
}

func joined(chunks []initd.Chunk) []byte {
	var all []byte
	for _, c := range chunks {
		all = append(all, c.Data...)
	}
	return all
}

// boundary returns the last end of a whole character in text that is not beyond limit.
func boundary(text string, limit int) int {
	if limit >= len(text) {
		return len(text)
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}

const mixed = "aé€😀\u0000ß漢\U0010FFFF字z"

func TestStreamCutsBetweenCharactersWhereverItIsSplit(t *testing.T) {
	for split := range len(mixed) + 1 {
		for limit := range len(mixed) + 2 {
			chunks, total := streamed(t, [][]byte{[]byte(mixed[:split]), []byte(mixed[split:])}, int64(limit))
			for _, c := range chunks {
				if !utf8.Valid(c.Data) {
					t.Fatalf("split at %d, limit %d: chunk %d is %q", split, limit, c.Seq, c.Data)
				}
			}
			if got, want := string(joined(chunks)), mixed[:boundary(mixed, limit)]; got != want {
				t.Fatalf("split at %d, limit %d: got %q, want %q", split, limit, got, want)
			}
			if total != int64(len(mixed)) {
				t.Fatalf("split at %d, limit %d: counted %d bytes of %d", split, limit, total, len(mixed))
			}
		}
	}
}

func TestStreamProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		valid := rapid.Bool().Draw(rt, "valid")
		piece := rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })
		if !valid {
			piece = rapid.SliceOf(rapid.Byte())
		}
		pieces := rapid.SliceOfN(piece, 0, 6).Draw(rt, "pieces")
		if rapid.Bool().Draw(rt, "long") {
			pieces = append(pieces, []byte(strings.Repeat(mixed, rapid.IntRange(1, 12000).Draw(rt, "repeat"))))
		}
		input := bytes.Join(pieces, nil)
		// Cut once more, through characters.
		at := rapid.IntRange(0, len(input)).Draw(rt, "cut")
		limit := rapid.IntRange(0, len(input)+3).Draw(rt, "limit")
		chunks, total := streamed(t, [][]byte{input[:at], input[at:]}, int64(limit))
		checkStream(rt, input, limit, valid, chunks, total)
	})
}

func checkStream(t *rapid.T, input []byte, limit int, valid bool, chunks []initd.Chunk, total int64) {
	if total != int64(len(input)) {
		t.Fatalf("counted %d bytes of %d", total, len(input))
	}
	for i, c := range chunks {
		if c.Seq != uint64(i+1) || len(c.Data) == 0 || len(c.Data) > initd.MaxChunk {
			t.Fatalf("chunk %d has number %d and %d bytes", i, c.Seq, len(c.Data))
		}
		if valid && !utf8.Valid(c.Data) {
			t.Fatalf("chunk %d is cut through a character", i)
		}
	}
	got := joined(chunks)
	switch {
	case !bytes.HasPrefix(input, got):
		t.Fatalf("%d bytes came that were not written so", len(got))
	case len(got) > limit:
		t.Fatalf("%d bytes came, beyond the limit of %d", len(got), limit)
	case valid && len(got) != boundary(string(input), limit):
		t.Fatalf("%d bytes of %d came with a limit of %d", len(got), len(input), limit)
	case len(input) <= limit && len(got) != len(input):
		t.Fatalf("%d bytes of %d came, within the limit of %d", len(got), len(input), limit)
	case len(got) < min(limit, len(input))-(utf8.UTFMax-1):
		t.Fatalf("%d bytes came with a limit of %d", len(got), limit)
	}
}

func TestPartialRune(t *testing.T) {
	tests := []struct {
		data string
		want int
	}{
		{"", 0},
		{"a", 0},
		{"é", 0},
		{"é"[:1], 1},
		{"€"[:1], 1},
		{"x€"[:3], 2},
		{"😀"[:3], 3},
		{"😀", 0},
		{"\x80\x80\x80\x80", 0}, // no beginning of anything
		{"\xff", 0},
		{"a\xc0", 0}, // begins no valid character
		{"😀"[:2] + "a", 0},
	}
	for _, tt := range tests {
		if got := partialRune([]byte(tt.data)); got != tt.want {
			t.Errorf("partialRune(%q) = %d, want %d", tt.data, got, tt.want)
		}
	}
}

func FuzzPartialRune(f *testing.F) {
	for i := range len(mixed) + 1 {
		f.Add([]byte(mixed[:i]))
	}
	f.Add([]byte("\xf0\x9f\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := partialRune(data)
		if n < 0 || n >= utf8.UTFMax || n > len(data) {
			t.Fatalf("partialRune(%q) = %d", data, n)
		}
		if n > 0 && utf8.FullRune(data[len(data)-n:]) {
			t.Fatalf("%q ends with a whole character, not with %d bytes of one", data, n)
		}
	})
}

// TestStreamThatIsHeldOpen has something that the process left behind keep its
// pipe: the process ends all the same, and the writer never blocks.
func TestStreamThatIsHeldOpen(t *testing.T) {
	p := testProcess(t)
	reader, w := pipeOf(t, p, 1<<20)
	ran := make(chan struct{})
	go func() { defer close(ran); reader.run() }()
	if _, err := w.WriteString("before"); err != nil {
		t.Fatal(err)
	}
	drained := make(chan int64)
	go func() { drained <- reader.drain() }()
	select {
	case total := <-drained:
		if total != 6 {
			t.Errorf("it counted %d bytes", total)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the end waits for the pipe to be closed")
	}
	// More than the pipe holds.
	if n, err := w.Write(make([]byte, 4<<20)); err != nil {
		t.Errorf("the writer got %v after %d bytes", err, n)
	}
	w.Close()
	<-ran
	end(p)
	if got := joined(collect(p)); string(got) != "before" {
		t.Errorf("what came after the end was kept: %d bytes", len(got))
	}
}

// TestStreamThatIsFlooded has a writer that is left behind and never pauses.
func TestStreamThatIsFlooded(t *testing.T) {
	p := testProcess(t)
	reader, w := pipeOf(t, p, 1<<10)
	ran, wrote := make(chan struct{}), make(chan struct{})
	go func() { defer close(ran); reader.run() }()
	stop := make(chan struct{})
	go func() {
		defer close(wrote)
		defer w.Close()
		for buf := make([]byte, 4096); ; {
			select {
			case <-stop:
				return
			default:
				w.Write(buf)
			}
		}
	}()
	drained := make(chan int64)
	go func() { drained <- reader.drain() }()
	select {
	case <-drained:
	case <-time.After(10 * time.Second):
		t.Error("the end waits for a writer that never ends")
	}
	close(stop)
	<-wrote
	<-ran
}
