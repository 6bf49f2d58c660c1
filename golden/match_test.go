package golden

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestMatchPath(t *testing.T) {
	const cache = "example.com/app.cache"
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{cache, cache, true},
		{cache, cache + ".lru", false},
		{cache + ".**", cache, true},
		{cache + ".**", cache + ".lru", true},
		{cache + ".**", cache + "[*].key", true},
		{cache + ".**", cache + "[$key]", true},
		{cache + ".**", cache + ".**", true}, // what leakcheck summed up below the path
		{cache + ".**", cache + "Size", false},
		{cache + ".**", "x" + cache, false},
		{cache + "**", cache + "Size", true},
		{"**.buf", "example.com/app.conn.buf", true},
		{"**.buf", "example.com/app.conn.buffer", false},
		{"**.cache.**", cache + ".x", true},
		{"**.cache.**", cache, true},
		{"**.cache.**", "example.com/other.srv.cache[*].y", true},
		{"**.cache.**", "example.com/app.caches.y", false},
		{"a**b**c", "abc", true},
		{"a**b**c", "aXbYbZc", true},
		{"a**b**c", "ac", false},
		{"a**a", "a", false},
		{"**", "", true},
		{"**", "anything", true},
		{"****", "anything", true},
		{"[*]", "[*]", true},
		{"[*]", "[x]", false}, // one star is just a star
		{"a.(*T).m", "a.(*T).m", true},
	}
	for _, tt := range tests {
		if got := matchPath(tt.pattern, tt.path); got != tt.want {
			t.Errorf("matchPath(%q, %q) = %t", tt.pattern, tt.path, got)
		}
	}
}

// matchByRegexp is the same rule, written another way.
func matchByRegexp(pattern, path string) bool {
	base, subtree := strings.CutSuffix(pattern, ".**")
	expr := strings.ReplaceAll(regexp.QuoteMeta(base), `\*\*`, `(?s:.*)`)
	if subtree {
		expr += `([.\[](?s:.*))?`
	}
	return regexp.MustCompile(`\A(?:` + expr + `)\z`).MatchString(path)
}

func TestMatchPathLikeRegexp(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(3, 4))}
	text := func(parts ...string) string {
		var b strings.Builder
		for range g.IntN(7) {
			b.WriteString(pick(g, parts...))
		}
		return b.String()
	}
	matches := 0
	for range 30000 {
		pattern, path := text("a", "b", ".", "[*]", "**", ".**"), text("a", "b", ".", "[*]")
		if strings.Contains(pattern, "***") {
			continue // the two may pair the stars differently
		}
		want := matchByRegexp(pattern, path)
		if got := matchPath(pattern, path); got != want {
			t.Fatalf("matchPath(%q, %q) = %t, by regexp %t", pattern, path, got, want)
		}
		if want {
			matches++
		}
	}
	if matches < 1000 {
		t.Errorf("only %d matches", matches)
	}
}

func TestAssignMostSpecific(t *testing.T) {
	f := mustParse(t, v1+`
* * ** *
* * a.** *
* * a.** T
* * a.b.** *
* * a.b.c *
* * a.b.c T
`)
	tests := []struct{ path, typ, want string }{
		{"x", "T", "** *"},
		{"a.x", "T", "a.** T"},
		{"a.x", "U", "a.** *"},
		{"a.b", "T", "a.b.** *"},
		{"a.b.d", "T", "a.b.** *"},
		{"a.b.c", "T", "a.b.c T"},
		{"a.b.c", "U", "a.b.c *"},
		{"a.b.c", "", "a.b.c *"},
		{"a.b.c.d", "T", "a.b.** *"},
		{"a.**", "T", "a.** T"},
	}
	for _, tt := range tests {
		covered, unlisted := assign(f.entries, []Measurement{{Path: tt.path, Type: tt.typ, Objects: 1}})
		if len(unlisted) > 0 {
			t.Errorf("%s %s is unlisted", tt.path, tt.typ)
		}
		for i, ms := range covered {
			if got := f.entries[i].Path + " " + f.entries[i].Type; len(ms) > 0 && got != tt.want {
				t.Errorf("%s %s counts towards %q, want %q", tt.path, tt.typ, got, tt.want)
			}
		}
	}
}

func TestCompareSpecific(t *testing.T) {
	sorted := []Entry{
		{Path: "a.bc.**", Type: "T"},
		{Path: "a.bc.**", Type: anyType},
		{Path: "a.**", Type: "T"},
		{Path: "a.**", Type: anyType},
		{Path: "**", Type: ""},
		{Path: "**", Type: anyType},
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := compareSpecific(&a, &b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("compareSpecific(%s %s, %s %s) = %d", a.Path, a.Type, b.Path, b.Type, got)
			}
		}
	}
}

func TestPathOrder(t *testing.T) {
	sorted := []string{
		"a", "a.**", "a.b", "a.b.**", "a.b.c", "a.b.c[*]", "a.b[$key]", "a.b[*]", "a.b[*].x", "a.b-c", "a.bX", "a.bc", "a[*]", "a-b", "ab",
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := comparePaths(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("comparePaths(%q, %q) = %d", a, b, got)
			}
		}
	}
}
