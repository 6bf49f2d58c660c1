package naming

import (
	"errors"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
)

// A Pattern is a name or path with wildcards: "*" any run of characters without "/", "**" and "..."
// any run. "[*]" and the "(*" of a method's receiver stand for themselves, since names have them. A
// pattern may leave out the first elements of the import path, or have the package's name in place
// of the path.
type Pattern struct {
	Text     string
	tokens   []token
	plain    bool // no wildcards: text is the literal
	Anchored bool // the import path is given in full
	// prefix of the names of roots that are not variables: "timer("; "" for all others
	Special string
}

// specials are the prefixes of the names of roots that are named by a function or type:
// "timer(app.(*Session).expire)".
var specials = []string{symbol.TimerRoot, symbol.FinalizerRoot, symbol.CleanupRoot, symbol.WeakRoot, symbol.GoroutineRoot}

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

func compilePattern(text string) (Pattern, error) {
	text = symbol.Unescape(text)
	p := Pattern{Text: text, plain: true}
	if text == "" {
		return p, errors.New("the pattern is empty")
	}
	for _, s := range specials {
		if strings.HasPrefix(text, s) {
			p.Special = s
		}
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

// CompilePathPattern is for patterns of roots and paths, where elements are folded: "[3]" is "[*]".
func CompilePathPattern(text string) (Pattern, error) {
	return compilePattern(symbol.FoldPath(text))
}

// Plain reports whether the pattern has no wildcards.
func (p *Pattern) Plain() bool { return p.plain }

func (p *Pattern) literals(s string) {
	for i := range len(s) {
		p.tokens = append(p.tokens, token{char: s[i]})
	}
}

func (p *Pattern) wild(w wildcard) {
	p.plain = false
	p.tokens = append(p.tokens, token{wild: w})
}

// inner is the pattern without Special: for what stands in the parentheses of the root's name, and
// what follows them.
func (p *Pattern) inner() Pattern {
	q := *p
	q.Special, q.tokens, q.Text = "", p.tokens[len(p.Special):], p.Text[len(p.Special):]
	return q
}

// MatchWhole reports whether the pattern matches all of name, whose import path the pattern may
// shorten.
func (p *Pattern) MatchWhole(name string) bool { return p.match(name, whole) }

// MatchPrefix reports whether the pattern matches path, or matches it up to a field or an element:
// "app.srv" matches "app.srv.conns[*]", but not "app.srvs".
func (p *Pattern) MatchPrefix(path string) bool { return p.match(path, upToBoundary) }

// MatchOrigin reports whether MatchPrefix is true of a function in which goroutines start, or of
// the one that creates them, "" if there is none.
func (p *Pattern) MatchOrigin(entry, started, createdBy string) bool {
	return p.MatchPrefix(entry) || p.MatchPrefix(started) || createdBy != "" && p.MatchPrefix(createdBy)
}

// MatchBelow reports whether the pattern matches name, or can match name with more fields or
// elements: the pattern "app.srv.conns" does so for "app.srv".
func (p *Pattern) MatchBelow(name string) bool { return p.match(name, goingOn) }

type extent int

const (
	whole extent = iota
	upToBoundary
	goingOn
)

func (p *Pattern) match(name string, e extent) bool {
	if p.Special != "" {
		rest, ok := strings.CutPrefix(name, p.Special)
		inner := p.inner()
		for len(inner.tokens) > 0 && len(rest) > 0 && strings.IndexByte("*[]", rest[0]) >= 0 && inner.tokens[0] == (token{char: rest[0]}) {
			// of a pointer type, or that of a slice
			rest = rest[1:]
			inner.tokens, inner.Text = inner.tokens[1:], inner.Text[1:]
		}
		return ok && inner.match(rest, e)
	}
	for start := range importPathStarts(name) {
		if p.matchFrom(name[start:], e) {
			return true
		}
		if p.Anchored {
			return false
		}
	}
	short, ok := byPackageName(name)
	return ok && p.matchFrom(short, e)
}

func (p *Pattern) matchFrom(s string, e extent) bool {
	if p.plain {
		switch e {
		case whole:
			return s == p.Text
		case upToBoundary:
			return strings.HasPrefix(s, p.Text) && AtBoundary(s, len(p.Text))
		default:
			return strings.HasPrefix(p.Text, s) && AtBoundary(p.Text, len(s))
		}
	}
	// at is the set of positions in the pattern that the text read so far leads to. This makes the
	// time linear in both lengths.
	end := len(p.tokens)
	at, next := make([]bool, end+1), make([]bool, end+1)
	p.reach(at, 0)
	for i := range len(s) {
		if e == upToBoundary && at[end] && AtBoundary(s, i) {
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

// reach marks pos and the positions that wildcards from there lead to without reading a character.
func (p *Pattern) reach(set []bool, pos int) {
	set[pos] = true
	for pos < len(p.tokens) && p.tokens[pos].wild != literal {
		pos++
		set[pos] = true
	}
}

// Below cuts the pattern behind a root's name: ".conns[*].buf" lies below "app.srv" in
// "app.srv.conns[*].buf". It leaves out the element that has the first wildcard, and all behind it.
// It returns "" if nothing is left, or if the pattern does not name the root, or does so with a
// wildcard.
func (p *Pattern) Below(root string) (name, path string) {
	text := p.beforeWildcards()
	for i := range text {
		name := Pattern{Text: text[:i], plain: true, Anchored: p.Anchored}
		if AtBoundary(text, i) && name.MatchWhole(root) {
			return text[:i], text[i:]
		}
	}
	return "", ""
}

// beforeWildcards returns the text before the field or element that has the first wildcard.
func (p *Pattern) beforeWildcards() string {
	var text []byte
	end := 0
	for _, t := range p.tokens {
		if t.wild != literal {
			return string(text[:end])
		}
		if t.char == '.' || t.char == '[' {
			end = len(text)
		}
		text = append(text, t.char)
	}
	return p.Text
}

// AtBoundary reports whether s ends at i or goes on with a field or an element.
func AtBoundary(s string, i int) bool {
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
