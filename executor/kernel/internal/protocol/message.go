package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Bounds of a kernel's messages.
const (
	// MaxMessage bounds one message, in bytes: the largest result, or a display of as much.
	MaxMessage = yurt.MaxDisplayBytes + 1<<20
	maxTypes   = 32  // of one display
	maxTypeLen = 128 // bytes
	maxCause   = 16 << 10
	maxCount   = 1<<31 - 1 // executions of one kernel
)

// Message is a kernel's message about an execution: a display, a piece of its response, or its end.
type Message struct {
	ID       string
	Display  *yurt.DisplayEvent
	Response []byte // of a function that streams; not empty
	Done     *Done
}

// Done says how an execution ended.
type Done struct {
	plugins.Outcome // Result is null if the last expression has no JSON
	ExitCode        int
	Count           int    // its number among the kernel's executions, from 1; 0 if the kernel does not say
	Exiting         bool   // the kernel ends with it
	Broken          string // why the kernel could not go on; it is exiting then
	Speaker         string // how the line of standard error begins that is the error's message; "" if the error has its own
}

// Lines takes messages out of a stream.
type Lines struct {
	held []byte
}

var errMessageTooLong = fmt.Errorf("a message has more than %d bytes", MaxMessage)

// Take calls each with every message in the stream that is whole now. Any error means that the kernel broke the
// protocol; the caller must not read the rest of the stream.
func (l *Lines) Take(data []byte, each func(Message)) error {
	for {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if len(l.held)+len(line) > MaxMessage {
			return errMessageTooLong
		}
		if !whole {
			l.held = append(l.held, line...)
			return nil
		}
		if len(l.held) > 0 {
			line = append(l.held, line...)
			l.held = nil
		}
		message, err := decode(line)
		if err != nil {
			return err
		}
		each(message)
		data = rest
	}
}

// Skip passes over the stream without parsing it, while no cell takes messages: user code may write any bytes, and any
// number of them.
func (l *Lines) Skip(data []byte) error {
	if end := bytes.LastIndexByte(data, '\n'); end >= 0 {
		l.held, data = nil, data[end+1:]
	}
	if len(l.held)+len(data) > MaxMessage {
		return errMessageTooLong
	}
	l.held = append(l.held, data...)
	return nil
}

// wireMessage is a message as the kernel writes it.
type wireMessage struct {
	ID       string       `json:"id"`
	Display  *wireDisplay `json:"display"`
	Response []byte       `json:"response"` // in base64
	Done     *wireDone    `json:"done"`
}

type wireDisplay struct {
	Data   map[string]json.RawMessage `json:"data"`
	Main   bool                       `json:"main"`
	ID     string                     `json:"display_id"`
	Update bool                       `json:"update"`
	Clear  bool                       `json:"clear"`
	Cut    bool                       `json:"cut"` // the kernel left types out, for their size
}

type wireDone struct {
	ExitCode int             `json:"exit_code"`
	Count    int             `json:"execution_count"`
	Envelope json.RawMessage `json:"envelope"`
	Exiting  bool            `json:"exiting"`
	Broken   string          `json:"broken"`
	Speaker  string          `json:"speaker"`
}

func decode(line []byte) (Message, error) {
	if !utf8.Valid(line) {
		return Message{}, errors.New("a message is not UTF-8")
	}
	var wire wireMessage
	if err := json.Unmarshal(line, &wire); err != nil {
		return Message{}, fmt.Errorf("a message is malformed: %w", err)
	}
	kinds := 0
	for _, is := range []bool{wire.Display != nil, wire.Done != nil, len(wire.Response) > 0} {
		if is {
			kinds++
		}
	}
	if !yurt.ValidID(yurt.ExecutionIDPrefix, wire.ID) || kinds != 1 {
		return Message{}, errors.New("a message is about no execution, or not of one kind")
	}
	message := Message{ID: wire.ID, Response: wire.Response}
	var err error
	switch {
	case wire.Display != nil:
		message.Display, err = wire.Display.decode()
	case wire.Done != nil:
		message.Done, err = wire.Done.decode()
	}
	return message, err
}

func (d *wireDisplay) decode() (*yurt.DisplayEvent, error) {
	if err := checkDisplay(d.Data, d.ID, d.Clear || d.Cut); err != nil {
		return nil, err
	}
	return &yurt.DisplayEvent{Data: d.Data, Main: d.Main, ID: d.ID, Update: d.Update && d.ID != "", Clear: d.Clear, Cut: d.Cut}, nil
}

func (d *wireDone) decode() (*Done, error) {
	if d.Count < 0 || d.Count > maxCount {
		return nil, fmt.Errorf("an execution_count is %d; 1 to %d are allowed", d.Count, maxCount)
	}
	done := &Done{ExitCode: d.ExitCode & 0xff, Count: d.Count, Exiting: d.Exiting || d.Broken != "", Broken: bound(d.Broken), Speaker: d.Speaker}
	if len(d.Envelope) == 0 {
		return done, nil
	}
	var err error
	done.Outcome, err = plugins.DecodeEnvelope(d.Envelope)
	return done, err
}

// bound cuts a text of the kernel's own to the length of a message.
func bound(text string) string {
	if len(text) <= maxCause {
		return text
	}
	return strings.ToValidUTF8(text[:maxCause], "") + "…"
}

// checkDisplay checks a display of a kernel; the data may be empty where the message says more.
func checkDisplay(data map[string]json.RawMessage, id string, more bool) error {
	switch {
	case len(data) == 0 && !more || len(data) > maxTypes:
		return fmt.Errorf("a display has %d types; 1 to %d are allowed", len(data), maxTypes)
	case len(id) > yurt.MaxNameBytes || strings.ContainsFunc(id, unicode.IsControl):
		return errors.New("a display's id is too long or holds control characters")
	}
	for name := range data {
		odd := func(r rune) bool { return r <= ' ' || r > '~' }
		if len(name) > maxTypeLen || !strings.Contains(name, "/") || strings.ContainsFunc(name, odd) {
			return errors.New("a display has a type that is no MIME type")
		}
	}
	return nil
}

// Displays collects the displays of an execution, within its bounds.
type Displays struct {
	List []yurt.Display
	Main *int
	Cut  bool // something was left out

	size int
	byID map[string]int
}

// Add takes one more display. An update replaces the display that it names; a clear replaces all displays before it.
func (d *Displays) Add(e yurt.DisplayEvent) {
	if e.Clear {
		d.List, d.Main, d.size, d.byID = nil, nil, 0, nil
	}
	d.Cut = d.Cut || e.Cut
	if len(e.Data) == 0 {
		return
	}
	size := 0
	for name, value := range e.Data {
		size += len(name) + len(value)
	}
	if d.size+size > yurt.MaxDisplayBytes {
		d.Cut = true
		return
	}
	at, known := d.byID[e.ID]
	switch {
	case known && e.Update:
		d.List[at] = e.Data
	case len(d.List) >= yurt.MaxDisplays:
		d.Cut = true
		return
	default:
		at = len(d.List)
		d.List = append(d.List, e.Data)
	}
	d.size += size
	if e.ID != "" {
		if d.byID == nil {
			d.byID = make(map[string]int)
		}
		d.byID[e.ID] = at
	}
	if e.Main {
		d.Main = &at
	}
}
