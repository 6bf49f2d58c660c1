package debuginfo

import (
	"bytes"

	"github.com/leakgate/leakgate/internal/symbol"
)

// variableLine returns the line of Go source that declares a package variable, 0 if none does. It
// only tracks the nesting of brackets: each "var" outside of brackets declares package variables.
// go/scanner would do the same, but adds 28 kB to a test binary, and go/parser 190 kB.
func variableLine(src []byte, name string) int {
	if name == "_" {
		return 0
	}
	s := tokens{src: src, line: 1}
	depth, group := 0, false // depth of brackets; whether the outermost is that of "var ("
	// whether the token is among the names of a declaration: from "var" or a new line of a group up
	// to the first token that is neither name nor comma
	inNames := false
	for last := byte(newline); ; {
		tok, text := s.next()
		switch tok {
		case 0:
			return 0
		case word:
			switch {
			case string(text) == "var":
				inNames, tok = depth == 0, keyword
			case inNames && last != word && string(text) == name:
				return s.line
			default:
				inNames = inNames && last != word // the second of two in a row is a type
			}
		case ',':
		case newline:
			inNames = group && depth == 1
		case '(', '[', '{':
			group = group || tok == '(' && last == keyword && depth == 0
			inNames = group && depth == 0
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
			group = group && depth > 0
			inNames = false
		default:
			inNames = false
		}
		last = tok
	}
}

// Kinds of tokens; others are their first character.
const (
	word    = 'a'  // a name, number or keyword
	keyword = 'v'  // "var"
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
