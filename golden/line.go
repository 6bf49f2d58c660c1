package golden

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// A lineScanner takes one line of a golden file apart.
type lineScanner struct {
	file string
	line int
	text string // without the line end
	pos  int
}

func (s *lineScanner) errorAt(pos int, format string, args ...any) error {
	return &SyntaxError{File: s.file, Line: s.line, Column: pos + 1, Msg: fmt.Sprintf(format, args...)}
}

func (s *lineScanner) rest() string { return s.text[s.pos:] }
func (s *lineScanner) atEnd() bool  { return s.pos == len(s.text) }

func (s *lineScanner) skipSpace() {
	for !s.atEnd() && isSpace(s.text[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// checkCharacters refuses control characters, which editors and review tools do not show.
func (s *lineScanner) checkCharacters() error {
	for i, r := range s.text {
		if r != '\t' && unicode.IsControl(r) {
			return s.errorAt(i, "unexpected control character %U", r)
		}
	}
	return nil
}

// entry reads a line that is neither blank nor a comment. Leading space has been skipped.
func (s *lineScanner) entry() (Entry, error) {
	var e Entry
	if err := s.checkConflict(); err != nil {
		return e, err
	}
	var err error
	if e.Objects, err = s.bound("objects"); err != nil {
		return e, err
	}
	if e.Bytes, err = s.bound("bytes"); err != nil {
		return e, err
	}
	if e.Path, err = s.path(); err != nil {
		return e, err
	}
	e.Type, e.Comment, err = s.typeAndComment()
	return e, err
}

// checkConflict finds the conflict markers that git leaves behind when a merge fails.
func (s *lineScanner) checkConflict() error {
	for _, marker := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
		if strings.HasPrefix(s.rest(), marker) {
			return s.errorAt(s.pos, "unresolved merge conflict: keep the lines of one side, or delete the file, and update")
		}
	}
	return nil
}

// word returns the text up to the next space, and where it began. It returns "" at the end of the
// line and at a comment.
func (s *lineScanner) word() (text string, start int) {
	s.skipSpace()
	start = s.pos
	if !s.atEnd() && s.text[s.pos] == '#' {
		return "", start
	}
	for !s.atEnd() && !isSpace(s.text[s.pos]) {
		s.pos++
	}
	return s.text[start:s.pos], start
}

func (s *lineScanner) bound(column string) (Bound, error) {
	text, start := s.word()
	if text == "" {
		return Bound{}, s.errorAt(start, "expected a bound on %s (a number, <=N, N~P%% or *), found %s", column, s.found())
	}
	b, err := parseBound(text, column)
	if err != nil {
		return Bound{}, s.errorAt(start, "%s", err)
	}
	return b, nil
}

func (s *lineScanner) path() (string, error) {
	s.skipSpace()
	if s.atQuote() {
		path, err := s.quoted("path")
		if err == nil && path == "" {
			err = s.errorAt(s.pos-len(`""`), "expected a path, found an empty one")
		}
		return path, err
	}
	text, start := s.word()
	if text == "" {
		return "", s.errorAt(start, "expected a path, found %s", s.found())
	}
	return text, s.checkPrintable(text, start, "path")
}

func (s *lineScanner) typeAndComment() (typ, comment string, err error) {
	s.skipSpace()
	start := s.pos
	quoted := s.atQuote()
	if quoted {
		if typ, err = s.quoted("type"); err != nil {
			return "", "", err
		}
	}
	after := s.pos
	text, comment := s.untilComment()
	switch {
	case quoted && text != "":
		return "", "", s.errorAt(after+1, "expected a comment or the end of the line after the quoted type, found %q", clip(text))
	case quoted:
		return typ, comment, nil
	case text == "":
		s.pos = start
		return "", "", s.errorAt(start, "expected a type (* for any type, - for an unknown one), found %s", s.found())
	case text == unknownType:
		return "", comment, nil
	}
	if err := s.checkPrintable(strings.ReplaceAll(text, "\t", " "), start, "type"); err != nil {
		return "", "", err
	}
	return strings.Join(strings.Fields(text), " "), comment, nil
}

// checkPrintable refuses characters that look like others or are invisible, unless they are quoted.
func (s *lineScanner) checkPrintable(text string, start int, column string) error {
	if i := strings.IndexFunc(text, isNotPrintable); i >= 0 {
		r := []rune(text[i:])[0]
		return s.errorAt(start+i, "the %s contains %U, which does not print: write it in quotes as %s",
			column, r, strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return nil
}

func (s *lineScanner) atQuote() bool { return !s.atEnd() && s.text[s.pos] == '"' }

// quoted reads a string literal, which must end at a space or at the end of the line.
func (s *lineScanner) quoted(column string) (string, error) {
	start := s.pos
	literal, err := strconv.QuotedPrefix(s.rest())
	if err != nil {
		return "", s.errorAt(start, "expected a %s in quotes, written as a Go string, found %q", column, clip(s.rest()))
	}
	text, err := strconv.Unquote(literal)
	if err != nil {
		return "", s.errorAt(start, "expected a %s in quotes, written as a Go string: %v", column, err)
	}
	s.pos += len(literal)
	if !s.atEnd() && !isSpace(s.text[s.pos]) {
		return "", s.errorAt(s.pos, "expected a space after the quoted %s, found %q", column, clip(s.rest()))
	}
	return text, nil
}

// untilComment returns what is left of the line, and the comment at its end without the #. A #
// begins a comment at the start of the text or after a space.
func (s *lineScanner) untilComment() (text, comment string) {
	from := s.pos
	s.pos = len(s.text)
	for i := from; i < len(s.text); i++ {
		if s.text[i] == '#' && (i == 0 || isSpace(s.text[i-1])) {
			return strings.Trim(s.text[from:i], " \t"), strings.TrimSpace(s.text[i+1:])
		}
	}
	return strings.Trim(s.text[from:], " \t"), ""
}

// found names what stands in place of an expected column.
func (s *lineScanner) found() string {
	if s.atEnd() {
		return "the end of the line"
	}
	return "a comment"
}
