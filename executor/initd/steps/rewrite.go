package steps

import (
	"bytes"
	"strconv"
)

// Insertion is text that a runtime put into a line of the user's code, such as the head of a main
// function. Compilers count it, and users do not know it.
type Insertion struct {
	File   string `json:"file"`   // as compilers name it, less its directory
	Line   int    `json:"line"`   // from 1
	Column int    `json:"column"` // of the beginning of the text, from 1
	Text   string `json:"text"`
}

// maxHeld bounds a line that is held back until it is whole, in bytes.
const maxHeld = 64 << 10

// Rewriter rewrites the messages of a compiler so that they refer to the source as the user wrote it.
type Rewriter struct {
	Hidden   []string // directories of the run, which are left out before the names of files
	Inserted *Insertion

	held []byte
	at   int // column of the insertion in the source line that was shown last; -1: no insertion there
}

// NewRewriter returns a rewriter. inserted may be nil.
func NewRewriter(hidden []string, inserted *Insertion) *Rewriter {
	if inserted != nil && (inserted.Text == "" || inserted.File == "") {
		inserted = nil
	}
	return &Rewriter{Hidden: hidden, Inserted: inserted, at: -1}
}

// Write takes output, and returns the lines of it that are whole.
func (r *Rewriter) Write(data []byte) []byte {
	var out []byte
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		r.held = append(r.held, line...)
		if whole {
			out = append(append(out, r.line(r.held)...), '\n')
			r.held = r.held[:0]
		} else if len(r.held) > maxHeld {
			out = append(out, r.Flush()...)
		}
		data = rest
	}
	return out
}

// Flush returns the line that was not complete.
func (r *Rewriter) Flush() []byte {
	out := bytes.Clone(r.line(r.held))
	r.held = r.held[:0]
	return out
}

func (r *Rewriter) line(line []byte) []byte {
	for _, dir := range r.Hidden {
		line = bytes.ReplaceAll(line, []byte(dir+"/"), nil)
	}
	if r.Inserted == nil {
		return line
	}
	if at := bytes.Index(line, []byte(r.Inserted.Text)); at >= 0 {
		r.at = at
		return bytes.Join([][]byte{line[:at], line[at+len(r.Inserted.Text):]}, nil)
	}
	return r.place(r.underline(line))
}

// underline moves the marks that compilers set below a source line.
func (r *Rewriter) underline(line []byte) []byte {
	if r.at < 0 {
		return line
	}
	trimmed := bytes.TrimLeft(line, " ")
	if len(trimmed) == 0 || bytes.IndexByte([]byte("|^-~"), trimmed[0]) < 0 {
		r.at = -1
		return line
	}
	end := r.at + len(r.Inserted.Text)
	if len(line) < end || len(bytes.TrimLeft(line[r.at:end], " ")) > 0 {
		return line // the marks point at the insertion itself, or there are no marks
	}
	return bytes.Join([][]byte{line[:r.at], line[end:]}, nil)
}

// place corrects the column in "file:line:column".
func (r *Rewriter) place(line []byte) []byte {
	in := r.Inserted
	name := []byte(in.File + ":" + strconv.Itoa(in.Line) + ":")
	at := bytes.Index(line, name)
	if at < 0 {
		return line
	}
	from := at + len(name)
	to := from
	for to < len(line) && line[to] >= '0' && line[to] <= '9' {
		to++
	}
	column, err := strconv.Atoi(string(line[from:to]))
	if err != nil || column < in.Column {
		return line
	}
	column = max(column-len([]rune(in.Text)), in.Column)
	return bytes.Join([][]byte{line[:from], strconv.AppendInt(nil, int64(column), 10), line[to:]}, nil)
}
