package outputjson_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/outputjson"
)

// apart returns a result whose output is read with open.
func apart(stdout, stderr int64, open func(stream yurt.EventType) io.Reader) *yurt.Result {
	return &yurt.Result{ExitCode: 3, Output: &yurt.Output{
		Stdout: stdout, Stderr: stderr,
		Open: func(_ context.Context, stream yurt.EventType, _ int64) (io.ReadCloser, error) {
			return io.NopCloser(open(stream)), nil
		},
	}}
}

func write(t *testing.T, w io.Writer, result *yurt.Result) error {
	t.Helper()
	marked, output := outputjson.Mark(result)
	encoded, err := json.Marshal(map[string]any{"result": marked})
	if err != nil {
		t.Fatal(err)
	}
	return output.Write(t.Context(), w, encoded)
}

// FuzzWrite compares the streamed JSON with that of a result that has all of its output in it.
func FuzzWrite(f *testing.F) {
	f.Add("plain\n", "\x00\x01\x1f\"\\\r\t<&>é\u2028\u2029\U0001f600\x7f")
	f.Add("", "\ufffd")
	f.Fuzz(func(t *testing.T, stdout, stderr string) {
		stdout, stderr = strings.ToValidUTF8(stdout, "\ufffd"), strings.ToValidUTF8(stderr, "\ufffd")
		result := apart(int64(len(stdout)), int64(len(stderr)), func(stream yurt.EventType) io.Reader {
			if stream == yurt.EventStderr {
				return iotest.OneByteReader(strings.NewReader(stderr))
			}
			return strings.NewReader(stdout)
		})
		var got bytes.Buffer
		if err := write(t, &got, result); err != nil {
			t.Fatal(err)
		}
		var read struct{ Result yurt.Result }
		if err := json.Unmarshal(got.Bytes(), &read); err != nil {
			t.Fatalf("%v in %q", err, got.String())
		}
		if read.Result.Stdout != stdout || read.Result.Stderr != stderr || read.Result.ExitCode != 3 {
			t.Errorf("got %q and %q, want %q and %q", read.Result.Stdout, read.Result.Stderr, stdout, stderr)
		}
	})
}

// zeros is output of so many NULs, which JSON makes six times as long.
func zeros(n int64) io.Reader { return io.LimitReader(iotestZeros{}, n) }

type iotestZeros struct{}

func (iotestZeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestLargeOutputIsNotHeld(t *testing.T) {
	const size = 16 << 20
	result := apart(size, size, func(yurt.EventType) io.Reader { return zeros(size) })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var written counter
	if err := write(t, &written, result); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20 {
		t.Errorf("writing %d MiB of JSON allocated %d KiB", written>>20, allocated>>10)
	}
	if written < 2*6*size {
		t.Errorf("%d bytes of JSON came, want %d or more", written, 2*6*size)
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func TestErrorOfTheSourceComes(t *testing.T) {
	lost := errors.New("lost")
	result := apart(10, 0, func(yurt.EventType) io.Reader { return iotest.ErrReader(lost) })
	if err := write(t, io.Discard, result); !errors.Is(err, lost) {
		t.Errorf("got %v, want %v", err, lost)
	}
}

func TestSmallOutputIsAsItWas(t *testing.T) {
	result := &yurt.Result{Stdout: "out"}
	marked, output := outputjson.Mark(result)
	var got bytes.Buffer
	if err := output.Write(t.Context(), &got, []byte("{}")); err != nil || marked != result || got.String() != "{}" {
		t.Errorf("got %q, %v", got.String(), err)
	}
}
