package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Plain returns the context with output through which text from elsewhere goes: names in reports,
// profiles and binaries that others have made. See NewPlain.
func (c *Context) Plain() *Context {
	plain := *c
	plain.Stdout, plain.Stderr = NewPlain(c.Stdout, false), NewPlain(c.Stderr, false)
	return &plain
}

// NewPlain returns a writer that escapes what a terminal or GitHub Actions may take for a command:
// control characters but for line ends and tabs, what is no UTF-8, characters that change the
// direction of text, and lines that begin with "::", or have "##[" (actions/runner,
// ActionCommand.cs). With colors it leaves those of leakgate. Text has to end with a line's end.
func NewPlain(w io.Writer, colors bool) io.Writer {
	return &plainWriter{to: w, colors: colors, begins: true}
}

// PlainText escapes text as NewPlain does.
func PlainText(text string) string { return (&plainWriter{begins: true}).all(text) }

// PlainLine escapes text as NewPlain does, and line ends and tabs, too: a name stays in its cell of
// a table.
func PlainLine(text string) string { return (&plainWriter{oneLine: true}).all(text) }

// plainWriter keeps the state of a text between writes.
type plainWriter struct {
	to      io.Writer
	colors  bool
	oneLine bool   // line ends and tabs are escaped, too
	begins  bool   // nothing but white space is on the line so far
	pending []byte // the beginning of a character, or of what has to be escaped as a whole
}

// ownColors are the sequences that leakgate writes to a terminal.
var ownColors = [][]byte{[]byte("\x1b[31m"), []byte("\x1b[32m"), []byte("\x1b[0m")}

// commands are escaped by a backslash before the last character.
var (
	lineCommand = []byte("::")
	anyCommand  = []byte("##[")
)

func (p *plainWriter) Write(text []byte) (int, error) {
	rest := append(p.pending, text...)
	var out bytes.Buffer
	for len(rest) > 0 && !p.isPartial(rest) {
		rest = rest[p.next(&out, rest):]
	}
	p.pending = slices.Clone(rest)
	if _, err := p.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// all returns a whole text, escaped.
func (p *plainWriter) all(text string) string {
	var out bytes.Buffer
	for rest := []byte(text); len(rest) > 0; {
		rest = rest[p.next(&out, rest):]
	}
	return out.String()
}

// isPartial reports whether a text may be the beginning of a character, command or color of which
// the rest is not written yet.
func (p *plainWriter) isPartial(text []byte) bool {
	isPart := func(of []byte) bool { return len(text) < len(of) && bytes.HasPrefix(of, text) }
	return !utf8.FullRune(text) || p.begins && isPart(lineCommand) || isPart(anyCommand) ||
		p.colors && slices.ContainsFunc(ownColors, isPart)
}

// next writes the beginning of a text, and returns how long that is.
func (p *plainWriter) next(out *bytes.Buffer, text []byte) int {
	if p.colors {
		for _, color := range ownColors {
			if bytes.HasPrefix(text, color) {
				out.Write(color)
				return len(color)
			}
		}
	}
	begins := p.begins
	r, size := utf8.DecodeRune(text)
	p.begins = !p.oneLine && (r == '\n' || begins && unicode.IsSpace(r))
	switch {
	case begins && bytes.HasPrefix(text, lineCommand):
		out.WriteString(`:\:`)
		return len(lineCommand)
	case bytes.HasPrefix(text, anyCommand):
		out.WriteString(`##\[`)
		return len(anyCommand)
	case !p.oneLine && (r == '\n' || r == '\t'):
		out.WriteRune(r)
	case r == utf8.RuneError && size == 1, r < 0x80 && unicode.IsControl(r):
		fmt.Fprintf(out, `\x%02x`, text[0])
	case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control):
		fmt.Fprintf(out, `\u%04x`, r)
	default:
		out.Write(text[:size])
	}
	return size
}
