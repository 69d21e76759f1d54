// Package outputjson writes results as JSON whose output is kept apart: the text of the output is read and escaped piece by
// piece, so that no copy of it is in memory.
package outputjson

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

// Output is the output of a result that is kept apart from it.
type Output struct {
	result *yurt.Result
	marks  []mark
}

// mark is a text that stands for a stream in the encoded result.
type mark struct {
	text   []byte
	stream yurt.EventType
}

// Mark returns the result with a mark in place of each stream that is kept apart. The caller encodes the marked result, or a
// value that contains it, and gives the JSON to [Output.Write]. A mark is random, so that no program can print one.
func Mark(result *yurt.Result) (marked *yurt.Result, output *Output) {
	if result == nil || result.Output == nil {
		return result, &Output{}
	}
	output = &Output{result: result}
	copied := *result
	copied.Output = nil
	for _, stream := range []struct {
		kind yurt.EventType
		text *string
	}{{yurt.EventStdout, &copied.Stdout}, {yurt.EventStderr, &copied.Stderr}} {
		*stream.text = "output-" + rand.Text()
		output.marks = append(output.marks, mark{[]byte(*stream.text), stream.kind})
	}
	return &copied, output
}

// Write writes JSON with the output in place of its marks.
func (o *Output) Write(ctx context.Context, w io.Writer, encoded []byte) error {
	buffered := bufio.NewWriterSize(w, pieceSize)
	for _, mark := range o.marks {
		before, after, found := bytes.Cut(encoded, mark.text)
		if !found {
			return fmt.Errorf("writing a result: its JSON has no place for %s", mark.stream)
		}
		if _, err := buffered.Write(before); err != nil {
			return err
		}
		if err := o.copy(ctx, buffered, mark.stream); err != nil {
			return err
		}
		encoded = after
	}
	if _, err := buffered.Write(encoded); err != nil {
		return err
	}
	return buffered.Flush()
}

// pieceSize is how many bytes of JSON are written at once.
const pieceSize = 32 << 10

// copy writes a stream, escaped as a JSON string is.
func (o *Output) copy(ctx context.Context, w *bufio.Writer, stream yurt.EventType) error {
	source, err := o.result.OpenOutput(ctx, stream, 0)
	if err != nil {
		return fmt.Errorf("writing a result: %w", err)
	}
	text := &yurt.TextWriter{To: escaper{w}} // which cuts no character
	_, err = io.Copy(text, source)
	return errors.Join(err, text.Close(), source.Close())
}

// escaper writes text as the inside of a JSON string.
type escaper struct{ to *bufio.Writer }

// controls has the escapes of the control characters, each of six bytes.
const controls = `\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\u0009\u000a\u000b\u000c\u000d\u000e\u000f` +
	`\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f`

// Write implements [io.Writer]. No character of the text is cut.
func (e escaper) Write(text []byte) (int, error) {
	plain := 0
	for i := 0; i < len(text); {
		escaped, size := escape(text[i:])
		if escaped == "" {
			i += size
			continue
		}
		_, _ = e.to.Write(text[plain:i])
		_, _ = e.to.WriteString(escaped)
		i += size
		plain = i
	}
	if _, err := e.to.Write(text[plain:]); err != nil { // a writer that failed once fails again
		return 0, err
	}
	return len(text), nil
}

// escape returns the escape of the first character and its size in text; "" if the character stands as it is.
func escape(text []byte) (string, int) {
	switch c := text[0]; {
	case c == '"':
		return `\"`, 1
	case c == '\\':
		return `\\`, 1
	case c == '\n':
		return `\n`, 1
	case c == '\r':
		return `\r`, 1
	case c == '\t':
		return `\t`, 1
	case c < ' ':
		at := 6 * int(c)
		return controls[at : at+6], 1
	case c < utf8.RuneSelf:
		return "", 1
	}
	switch r, size := utf8.DecodeRune(text); r {
	case '\u2028': // the end of a line in JavaScript, which encoding/json escapes too
		return `\u2028`, size
	case '\u2029':
		return `\u2029`, size
	default:
		return "", size
	}
}
