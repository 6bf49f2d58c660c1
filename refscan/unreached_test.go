package refscan_test

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// snippets hold parts of large blocks without pointers.
type snippets struct {
	head    string            // s[:8] of 1,024 bytes
	middle  string            // s[100:108]
	bytes   []byte            // s[:8]
	ends    [2]string         // s[:8] and s[1016:] of one
	halves  [2]string         // s[:8] and s[8:] of one
	ints    []int64           // s[:2] of 128
	keys    map[string]bool   // s[:8] each
	whole   string            // all of 1,024 bytes
	half    string            // s[:512]
	short   string            // s[:8] of 128 bytes
	pointed []byte            // s[:8], and there is a pointer into the array
	inner   ***[1024]byte     // that one, found later
	boxed   any               // s[:8]
	many    []string          // s[:8] each of ten
	nested  []map[int]*string // s[:8], of what "whole" has all of
}

var theSnippets *snippets

//go:noinline
func text(n int) string { return strings.Repeat("x", n) }

//go:noinline
func fillSnippets() {
	s := new(snippets)
	theSnippets = s
	s.head = text(1024)[:8]
	s.middle = text(1024)[100:108]
	s.bytes = []byte(text(1024))[:8]
	a := text(1024)
	s.ends = [2]string{a[:8], a[1016:]}
	b := text(1024)
	s.halves = [2]string{b[:8], b[8:]}
	s.ints = make([]int64, 2, 128)
	s.keys = map[string]bool{text(1024)[:8] + "": true, text(2048)[:9]: true}
	s.whole = text(1024)
	s.half = text(1024)[:512]
	s.short = text(128)[:8]
	array := new([1024]byte)
	p := &array
	s.pointed, s.inner = array[:8], &p
	s.boxed = text(1024)[:8]
	for range 10 {
		s.many = append(s.many, text(1024)[:8])
	}
	part := s.whole[:8]
	s.nested = []map[int]*string{{1: &part}}
}

// In large blocks, bytes that no slice and no string reaches are counted.
func TestUnreachedBytes(t *testing.T) {
	emptyCorpus()
	fillSnippets()
	defer func() { theSnippets = nil }()
	assert.Equal(t, map[string]int64{
		"head": 1016, "middle": 1016, "bytes": 1016, "ints": 1008, "keys[$key]": 1016 + 2039, "boxed.$val": 1016, "many[*]": 10160,
	}, unreached(t))
	// With too many blocks, nothing is reported.
	for range 131_073 {
		theSnippets.many = append(theSnippets.many, text(256)[:8])
	}
	assert.Empty(t, unreached(t))
}

// unreached scans the process, and returns the bytes that nothing reaches, by path from
// theSnippets.
func unreached(t *testing.T) map[string]int64 {
	t.Helper()
	return partsOf(t, "theSnippets", func(n *refscan.Node) int64 { return n.UnreachedBytes })
}

// partsOf scans the process, and returns a figure of each node below a variable, by path.
func partsOf(t *testing.T, variable string, of func(*refscan.Node) int64) map[string]int64 {
	t.Helper()
	s, err := refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	defer s.Close()
	r, err := s.Scan()
	require.NoError(t, err)
	sound(t, r)
	got := map[string]int64{}
	var walk func(path string, n *refscan.Node)
	walk = func(path string, n *refscan.Node) {
		if part := of(n); part != 0 {
			got[path] = part
			assert.True(t, part < n.Bytes, "%s: %d of %d", path, part, n.Bytes)
		}
		for _, c := range n.Children {
			walk(symbol.JoinPath(path, c.Name), c)
		}
	}
	for _, n := range r.Fold().Roots {
		if n.Name == pkg+variable {
			walk("", n)
		}
	}
	return got
}
