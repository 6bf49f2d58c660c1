package leakcheck

import (
	"errors"
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

// A pattern is a name or path with wildcards: "*" any run of characters without "/", "**" and "..." any
// run. "[*]" and the "(*" of a method's receiver stand for themselves, since names have them. A pattern
// may leave out the first elements of the import path.
type pattern struct {
	text     string
	tokens   []token
	plain    bool // no wildcards: text is the literal
	anchored bool // the import path is given in full
}

type token struct {
	wild wildcard
	char byte
}

type wildcard int

const (
	literal  wildcard = iota
	segment           // any run without "/"
	anything          // any run
)

func compilePattern(text string) (pattern, error) {
	text = unescapePath(text)
	p := pattern{text: text, plain: true}
	if text == "" {
		return p, errors.New("the pattern is empty")
	}
	if strings.TrimSpace(text) != text {
		return p, errors.New("the pattern begins or ends with a space")
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "[*]"):
			p.literals("[*]")
			i += len("[*]")
		case strings.HasPrefix(rest, "(*") && len(rest) > 2 && rest[2] != '*' && rest[2] != ')':
			p.literals("(*")
			i += len("(*")
		case strings.HasPrefix(rest, "**"):
			p.wild(anything)
			i += len("**")
		case strings.HasPrefix(rest, "..."):
			p.wild(anything)
			i += len("...")
		case rest[0] == '*':
			p.wild(segment)
			i++
		default:
			p.literals(rest[:1])
			i++
		}
	}
	return p, nil
}

// compilePathPattern is for patterns of roots and paths, where elements are folded: "[3]" is "[*]".
func compilePathPattern(text string) (pattern, error) {
	return compilePattern(refscan.FoldName(text))
}

func (p *pattern) literals(s string) {
	for i := range len(s) {
		p.tokens = append(p.tokens, token{char: s[i]})
	}
}

func (p *pattern) wild(w wildcard) {
	p.plain = false
	p.tokens = append(p.tokens, token{wild: w})
}

// matchWhole reports whether the pattern is all of name, but for leading elements of name's import path.
func (p *pattern) matchWhole(name string) bool { return p.match(name, whole) }

// matchPrefix reports whether the pattern is all of path, or all up to a field or an element of it:
// "app.srv" has "app.srv.conns[*]" below it, but not "app.srvs".
func (p *pattern) matchPrefix(path string) bool { return p.match(path, upToBoundary) }

// matchBelow reports whether name is the pattern, or something that the pattern goes on from with a
// field or an element: "app.srv" has the pattern "app.srv.conns" below it.
func (p *pattern) matchBelow(name string) bool { return p.match(name, goingOn) }

type extent int

const (
	whole extent = iota
	upToBoundary
	goingOn
)

func (p *pattern) match(name string, e extent) bool {
	for start := range importPathStarts(name) {
		if p.matchFrom(name[start:], e) {
			return true
		}
		if p.anchored {
			return false
		}
	}
	return false
}

func (p *pattern) matchFrom(s string, e extent) bool {
	if p.plain {
		switch e {
		case whole:
			return s == p.text
		case upToBoundary:
			return strings.HasPrefix(s, p.text) && atBoundary(s, len(p.text))
		default:
			return strings.HasPrefix(p.text, s) && atBoundary(p.text, len(s))
		}
	}
	// A set of positions in the pattern that the text read so far leads to: linear in both lengths.
	end := len(p.tokens)
	at, next := make([]bool, end+1), make([]bool, end+1)
	p.reach(at, 0)
	for i := range len(s) {
		if e == upToBoundary && at[end] && atBoundary(s, i) {
			return true
		}
		clear(next)
		for pos, on := range at[:end] {
			if !on {
				continue
			}
			switch t := p.tokens[pos]; {
			case t.wild == literal && t.char == s[i]:
				p.reach(next, pos+1)
			case t.wild == anything, t.wild == segment && s[i] != '/':
				p.reach(next, pos)
			}
		}
		at, next = next, at
	}
	if at[end] || e != goingOn {
		return at[end]
	}
	for pos, on := range at[:end] {
		if t := p.tokens[pos]; on && (t.wild != literal || t.char == '.' || t.char == '[') {
			return true
		}
	}
	return false
}

// reach marks pos and what follows it without reading a character.
func (p *pattern) reach(set []bool, pos int) {
	set[pos] = true
	for pos < len(p.tokens) && p.tokens[pos].wild != literal {
		pos++
		set[pos] = true
	}
}

// atBoundary reports whether s ends at i or goes on with a field or an element.
func atBoundary(s string, i int) bool {
	return i == len(s) || s[i] == '.' || s[i] == '['
}

// importPathStarts yields where a pattern may begin in a name: at the start of each element of the
// name's import path.
func importPathStarts(name string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if !yield(0) {
			return
		}
		for i := range len(name) {
			switch name[i] {
			case '[', '(', '{', ' ':
				return
			case '/':
				if !yield(i + 1) {
					return
				}
			}
		}
	}
}

// unescapePath undoes the compiler's escapes of dots in the last element of import paths
// (cmd/internal/objabi PathToPrefix, go1.26): debug information has "gopkg.in/yaml%2ev3.Node".
func unescapePath(s string) string {
	if !strings.Contains(s, "%2e") {
		return s
	}
	return strings.ReplaceAll(s, "%2e", ".")
}
