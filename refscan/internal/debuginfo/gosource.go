package debuginfo

// variableLine returns the line of Go source that declares a package-level variable, 0 if none does. It reads
// just enough of the language for that (no parser is linked into users' tests for one line number): tokens, brackets, and where a line's end ends a statement.
func variableLine(src []byte, name string) int {
	s := sourceScanner{src: src, line: 1}
	for {
		switch t := s.next(); {
		case t.kind == tokenEnd:
			return 0
		case t.kind == tokenWord && t.text == "var":
			if line := s.variables(name); line > 0 {
				return line
			}
		case t.kind != tokenStop:
			s.skipStatement(t)
		}
	}
}

// variables reads what follows var: one declaration, or a group in parentheses.
func (s *sourceScanner) variables(name string) int {
	t := s.next()
	if t.kind != '(' {
		return s.declaration(t, name)
	}
	for {
		switch t := s.next(); t.kind {
		case tokenEnd, ')':
			return 0
		case tokenStop:
		default:
			if line := s.declaration(t, name); line > 0 {
				return line
			}
			if s.closed {
				return 0
			}
		}
	}
}

// declaration reads a list of names and skips the type and values after it.
func (s *sourceScanner) declaration(t lexeme, name string) int {
	for t.kind == tokenWord {
		if t.text == name {
			return t.line
		}
		if t = s.next(); t.kind != ',' {
			break
		}
		t = s.next()
	}
	s.skipStatement(t)
	return 0
}

// skipStatement reads to the end of a statement that has begun with t. A parenthesis that closes more than the statement opened ends it as well;
// closed tells.
func (s *sourceScanner) skipStatement(t lexeme) {
	s.closed = false
	for depth := 0; ; t = s.next() {
		switch t.kind {
		case tokenEnd:
			return
		case tokenStop:
			if depth == 0 {
				return
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				s.closed = true
				return
			}
		}
	}
}

// Kinds of tokens. Punctuation has its own character as its kind.
const (
	tokenEnd   = 0
	tokenWord  = 'a' // an identifier or keyword
	tokenValue = '0' // a literal
	tokenStop  = ';' // a semicolon, or a line's end that stands for one
)

type lexeme struct {
	kind byte
	text string // of words
	line int
}

type sourceScanner struct {
	src    []byte
	line   int
	ends   bool // the last lexeme can end a statement, so that the line's end does
	closed bool
}

func (s *sourceScanner) next() lexeme {
	for len(s.src) > 0 {
		c := s.src[0]
		switch {
		case c == '\n':
			s.advance(1)
			if s.ends {
				s.ends = false
				return lexeme{kind: tokenStop, line: s.line - 1}
			}
		case c == ' ' || c == '\t' || c == '\r':
			s.advance(1)
		case c == '/' && len(s.src) > 1 && s.src[1] == '/':
			n := 0
			for n < len(s.src) && s.src[n] != '\n' {
				n++
			}
			s.advance(n)
		case c == '/' && len(s.src) > 1 && s.src[1] == '*':
			before := s.line
			s.advance(2)
			for len(s.src) > 0 && !(s.src[0] == '*' && len(s.src) > 1 && s.src[1] == '/') {
				s.advance(1)
			}
			s.advance(2)
			if s.line > before && s.ends {
				s.ends = false
				return lexeme{kind: tokenStop, line: before}
			}
		default:
			return s.lexeme(c)
		}
	}
	if s.ends {
		s.ends = false
		return lexeme{kind: tokenStop, line: s.line}
	}
	return lexeme{kind: tokenEnd, line: s.line}
}

func (s *sourceScanner) lexeme(c byte) lexeme {
	t := lexeme{kind: c, line: s.line}
	switch {
	case c == '"' || c == '\'' || c == '`':
		s.literal(c)
		t.kind, s.ends = tokenValue, true
	case isWord(c):
		n := 1
		for n < len(s.src) && (isWord(s.src[n]) || s.src[n] >= '0' && s.src[n] <= '9') {
			n++
		}
		t.kind, t.text = tokenWord, string(s.src[:n])
		s.advance(n)
		s.ends = !opensStatement(t.text)
	case c >= '0' && c <= '9':
		n := 1
		for n < len(s.src) && (isWord(s.src[n]) || s.src[n] >= '0' && s.src[n] <= '9' || s.src[n] == '.') {
			n++
		}
		s.advance(n)
		t.kind, s.ends = tokenValue, true
	default:
		// x++ and x-- end statements too, but only in functions, where nothing is looked for.
		s.advance(1)
		s.ends = c == ')' || c == ']' || c == '}'
	}
	return t
}

// opensStatement reports whether a word is a keyword after which a line's end does not end a statement.
func opensStatement(word string) bool {
	switch word {
	case "case", "chan", "const", "default", "defer", "else", "for", "func", "go", "goto", "if", "import", "interface", "map",
		"package", "range", "select", "struct", "switch", "type", "var":
		return true
	}
	return false
}

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// literal skips a string or rune.
func (s *sourceScanner) literal(quote byte) {
	s.advance(1)
	for len(s.src) > 0 && s.src[0] != quote {
		if s.src[0] == '\\' && quote != '`' {
			s.advance(1)
		}
		s.advance(1)
	}
	s.advance(1)
}

//go:noinline
func (s *sourceScanner) advance(n int) {
	n = min(n, len(s.src))
	for _, c := range s.src[:n] {
		if c == '\n' {
			s.line++
		}
	}
	s.src = s.src[n:]
}
