package debuginfo

import (
	"bytes"

	"github.com/leakgate/leakgate/internal/symbol"
)

// Kinds of tokens; others are their first character.
const (
	word    = 'a'  // a name, number or keyword
	keyword = 'v'  // "var" or "type"
	quoted  = '"'  // text in quotes
	newline = '\n' // the end of a statement: a semicolon, or a line's end that stands for one
)

// tokens reads Go source.
type tokens struct {
	src  []byte
	at   int
	line int
	ends bool // the last token may end a statement
}

// next returns the next token, 0 at the end. A line's end after a token that cannot end a statement
// is none.
func (s *tokens) next() (tok byte, text []byte) {
	for s.at < len(s.src) {
		c, start := s.src[s.at], s.at
		s.at++
		switch {
		case c == '\n':
			s.line++
			if s.ends {
				s.ends = false
				return newline, nil
			}
		case c == ' ' || c == '\t' || c == '\r':
		case c == '/' && s.at < len(s.src) && s.src[s.at] == '/':
			for s.at < len(s.src) && s.src[s.at] != '\n' {
				s.at++
			}
		case c == '/' && s.at < len(s.src) && s.src[s.at] == '*':
			first := s.line
			if s.skip("*/", false); s.line > first && s.ends {
				s.ends = false
				return newline, nil
			}
		case c == '"' || c == '\'' || c == '`':
			s.skip(string(c), c != '`')
			s.ends = true
			return quoted, nil
		case symbol.IsWord(c):
			for s.at < len(s.src) && symbol.IsWord(s.src[s.at]) {
				s.at++
			}
			s.ends = true
			return word, s.src[start:s.at]
		case c == ';':
			s.ends = false
			return newline, nil
		default:
			s.ends = c == ')' || c == ']' || c == '}'
			return c, nil
		}
	}
	return 0, nil
}

// declarations reads Go source with the nesting of its brackets, which tells the declarations by
// one keyword, "var" or "type", from all else. go/scanner would do the same, but adds 33 KB to a
// test binary, and go/parser 190 KB.
type declarations struct {
	tokens
	of    string // the keyword
	depth int    // of brackets: those around the next token
	group bool   // the outermost bracket is that of "keyword ("
	last  byte   // the token before the one that next has returned
	tok   byte
}

func declarationsBy(keyword string, src []byte) *declarations {
	return &declarations{tokens: tokens{src: src, line: 1}, of: keyword, tok: newline}
}

// next is that of tokens. An opening bracket counts in depth when it is returned, a closing one no
// longer.
func (d *declarations) next() (tok byte, text []byte) {
	d.last = d.tok
	d.tok, text = d.tokens.next()
	switch d.tok {
	case word:
		if string(text) == d.of {
			d.tok = keyword
		}
	case '(', '[', '{':
		d.group = d.group || d.tok == '(' && d.last == keyword && d.depth == 0
		d.depth++
	case ')', ']', '}':
		d.depth = max(d.depth-1, 0)
		d.group = d.group && d.depth > 0
	}
	return d.tok, text
}

// begins reports whether the token that next has returned may be followed by a name that is
// declared at the top level: it is the keyword, or begins a line of a group.
func (d *declarations) begins() bool {
	switch d.tok {
	case keyword:
		return d.depth == 0
	case newline, '(', '[', '{':
		return d.group && d.depth == 1
	}
	return false
}

// skip moves behind the next occurrence of end, or to the end of the source. A backslash hides the
// character after it.
func (s *tokens) skip(end string, escapes bool) {
	for s.at < len(s.src) && !bytes.HasPrefix(s.src[s.at:], []byte(end)) {
		if s.src[s.at] == '\\' && escapes {
			s.at++
		} else if s.src[s.at] == '\n' {
			s.line++
		}
		s.at++
	}
	s.at = min(s.at+len(end), len(s.src))
}
