package initd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFramesComeBackAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Frame {
			return Frame{
				Kind:    Kind(rapid.Byte().Draw(t, "kind")),
				Payload: rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "payload"),
			}
		}), 0, 8).Draw(t, "frames")
		var stream []byte
		for _, f := range frames {
			stream = AppendFrame(stream, f.Kind, f.Payload)
		}
		// However the bytes arrive.
		reader := NewReader(iotest.OneByteReader(bytes.NewReader(stream)))
		for i, want := range frames {
			got, err := reader.Next()
			if err != nil {
				t.Fatalf("frame %d of %d: %v", i, len(frames), err)
			}
			if got.Kind != want.Kind || !bytes.Equal(got.Payload, want.Payload) {
				t.Fatalf("frame %d is %q with %d bytes, want %q with %d", i, got.Kind, len(got.Payload), want.Kind, len(want.Payload))
			}
		}
		if _, err := reader.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last frame: %v, want io.EOF", err)
		}
	})
}

func TestReaderReadsNoByteBeyondTheFrame(t *testing.T) {
	src := bytes.NewReader(append(AppendFrame(nil, KindPing, nil), "the next"...))
	if _, err := NewReader(src).Next(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(src); err != nil || string(rest) != "the next" {
		t.Errorf("it left %q, %v", rest, err)
	}
}

func TestFrameBounds(t *testing.T) {
	header := func(size uint32) []byte { return binary.BigEndian.AppendUint32([]byte{byte(KindChunk)}, size) }
	tests := []struct {
		name string
		src  io.Reader
		want error // nil: any error but io.EOF
	}{
		{"nothing", strings.NewReader(""), io.EOF},
		{"half a header", bytes.NewReader(header(3)[:2]), io.ErrUnexpectedEOF},
		{"a header alone", bytes.NewReader(header(3)), io.ErrUnexpectedEOF},
		{"half a payload", io.MultiReader(bytes.NewReader(header(3)), strings.NewReader("ab")), io.ErrUnexpectedEOF},
		// Endless: reading the payload, rather than refusing it, would never end.
		{"one byte too many", io.MultiReader(bytes.NewReader(header(MaxFrame+1)), endless{}), nil},
		{"4 GiB", io.MultiReader(bytes.NewReader(header(1<<32-1)), endless{}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame, err := NewReader(tt.src).Next()
			if err == nil {
				t.Fatalf("got a frame %q of %d bytes", frame.Kind, len(frame.Payload))
			}
			if tt.want == nil && errors.Is(err, io.EOF) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	if frame, err := NewReader(io.MultiReader(bytes.NewReader(header(MaxFrame)), endless{})).Next(); err != nil || len(frame.Payload) != MaxFrame {
		t.Errorf("the largest frame gave %d bytes, %v", len(frame.Payload), err)
	}
}

// endless is a source of zeros that never ends.
type endless struct{}

func (endless) Read(buf []byte) (int, error) { clear(buf); return len(buf), nil }

func TestMessageBounds(t *testing.T) {
	var out bytes.Buffer
	if err := WriteMessage(&out, KindStart, StartRequest{ID: strings.Repeat("x", MaxFrame)}); !errors.Is(err, ErrTooLarge) || out.Len() != 0 {
		t.Errorf("a message beyond the bound was written: %d bytes, %v", out.Len(), err)
	}
	if err := WriteMessage(&out, KindStart, func() {}); err == nil || out.Len() != 0 {
		t.Errorf("what JSON cannot hold was written: %d bytes, %v", out.Len(), err)
	}
	if err := WriteMessage(&out, KindOK, nil); err != nil || out.String() != "O\x00\x00\x00\x00" {
		t.Errorf("an empty message is %q, %v", out.String(), err)
	}
}

func TestMessagesComeBackAsTheyWereWritten(t *testing.T) {
	want := StartRequest{
		ID: "exe_1", Argv: []string{"/bin/sh", "-c", "echo \"é\" \x01"}, Env: []string{"A=b", "EMPTY="}, Dir: "/workspace",
		UID: 1000, GID: 1000, HasStdin: true, HasControl: true, OutputLimit: 8 << 20, ControlLimit: 9 << 20,
	}
	var stream bytes.Buffer
	if err := WriteMessage(&stream, KindStart, want); err != nil {
		t.Fatal(err)
	}
	frame, err := NewReader(&stream).Next()
	if err != nil || frame.Kind != KindStart {
		t.Fatalf("got %q, %v", frame.Kind, err)
	}
	var got StartRequest
	if err := frame.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChunksComeBackAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Chunk{
			Seq:    rapid.Uint64().Draw(t, "seq"),
			Stream: rapid.SampledFrom([]Stream{Stdout, Stderr, Control}).Draw(t, "stream"),
			Data:   rapid.SliceOfN(rapid.Byte(), 1, 2000).Draw(t, "data"),
		}
		frame, err := NewReader(bytes.NewReader(AppendChunk(nil, want))).Next()
		if err != nil {
			t.Fatal(err)
		}
		got, err := frame.Chunk()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

func TestChunkBounds(t *testing.T) {
	chunk := func(stream Stream, size int) Frame {
		frame := AppendChunk(nil, Chunk{Seq: 1, Stream: stream, Data: make([]byte, size)})
		return Frame{Kind: KindChunk, Payload: frame[frameHeader:]}
	}
	tests := []struct {
		name  string
		frame Frame
		ok    bool
	}{
		{"one byte", chunk(Stdout, 1), true},
		{"the largest", chunk(Control, MaxChunk), true},
		{"without data", chunk(Stdout, 0), false},
		{"one byte too many", chunk(Stdout, MaxChunk+1), false},
		{"stream 0", chunk(0, 1), false},
		{"stream 4", chunk(4, 1), false},
		{"stream 255", chunk(255, 1), false},
		{"no header", Frame{Kind: KindChunk}, false},
		{"half a header", Frame{Kind: KindChunk, Payload: make([]byte, chunkHeader-1)}, false},
		{"of another kind", Frame{Kind: KindExit, Payload: chunk(Stdout, 1).Payload}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if c, err := tt.frame.Chunk(); (err == nil) != tt.ok {
				t.Errorf("got %d bytes of stream %d, %v", len(c.Data), c.Stream, err)
			}
		})
	}
}

func TestStartRequestValidate(t *testing.T) {
	valid := func() StartRequest { return StartRequest{ID: "a", Argv: []string{"x"}, UID: 1, GID: 1} }
	good := valid()
	if err := good.Validate(); err != nil {
		t.Errorf("a complete request is refused: %v", err)
	}
	for name, change := range map[string]func(*StartRequest){
		"no id":                    func(r *StartRequest) { r.ID = "" },
		"no argv":                  func(r *StartRequest) { r.Argv = nil },
		"no command":               func(r *StartRequest) { r.Argv = []string{""} },
		"root":                     func(r *StartRequest) { r.UID = 0 },
		"root's group":             func(r *StartRequest) { r.GID = 0 },
		"a negative output limit":  func(r *StartRequest) { r.OutputLimit = -1 },
		"a negative control limit": func(r *StartRequest) { r.ControlLimit = -1 },
	} {
		r := valid()
		change(&r)
		if r.Validate() == nil {
			t.Errorf("a request with %s is not refused", name)
		}
	}
}

// FuzzReader reads hostile bytes to their end: the frames are bounded, and encode to the bytes that were read.
func FuzzReader(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendFrame(nil, KindOK, nil))
	f.Add(AppendFrame(AppendFrame(nil, KindBegun, []byte(`{"pid":2}`)), KindExit, []byte(`{"code":0,"bytes":[1,2,3]}`)))
	f.Add(AppendChunk(nil, Chunk{Seq: 1, Stream: Stdout, Data: []byte("output")}))
	f.Add([]byte("D\xff\xff\xff\xff"))
	f.Add([]byte("E\x00\x00\x00\x02{}X\x00\x10\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		reader := NewReader(bytes.NewReader(data))
		var again []byte
		for {
			frame, err := reader.Next()
			if err != nil {
				break
			}
			if len(frame.Payload) > MaxFrame || len(frame.Payload) > len(data) {
				t.Fatalf("a frame of %d bytes came out of %d", len(frame.Payload), len(data))
			}
			again = AppendFrame(again, frame.Kind, frame.Payload)
			var exit Exit
			var failure Failure
			_, _ = frame.Decode(&exit), frame.Decode(&failure)
			_ = frame.expect(KindBegun)
		}
		if !bytes.HasPrefix(data, again) {
			t.Fatalf("what was read is not what was sent")
		}
	})
}

// FuzzChunk reads a hostile chunk frame: the reader refuses it, or returns exactly the bytes that were sent, within bounds.
func FuzzChunk(f *testing.F) {
	f.Add(byte(KindChunk), AppendChunk(nil, Chunk{Seq: 1, Stream: Stdout, Data: []byte("x")})[frameHeader:])
	f.Add(byte(KindChunk), AppendChunk(nil, Chunk{Seq: 1<<64 - 1, Stream: Control, Data: []byte("é")})[frameHeader:])
	f.Add(byte(KindChunk), make([]byte, chunkHeader))
	f.Add(byte(KindExit), []byte(`{"code":-1,"signal":9}`))
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		chunk, err := Frame{Kind: Kind(kind), Payload: payload}.Chunk()
		if err != nil {
			return
		}
		if len(chunk.Data) == 0 || len(chunk.Data) > MaxChunk || chunk.Stream < Stdout || chunk.Stream > Control {
			t.Fatalf("out of bounds: %d bytes of stream %d", len(chunk.Data), chunk.Stream)
		}
		if again := AppendChunk(nil, chunk); !bytes.Equal(again[frameHeader:], payload) || Kind(kind) != KindChunk {
			t.Fatalf("%x came back as %x", payload, again)
		}
	})
}
