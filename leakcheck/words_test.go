package leakcheck

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/refscan"
)

// TestLimitLines checks that a long message is cut between leaks, so that each one that is shown is
// whole, and within a leak where there is no other way.
func TestLimitLines(t *testing.T) {
	leak := func(n, lines int) []string {
		block := []string{fmt.Sprintf("leak %d", n)}
		for i := range lines {
			block = append(block, fmt.Sprintf("    line %d of leak %d", i, n))
		}
		return append(block, "")
	}
	build := func(sizes ...int) []string {
		lines := []string{"title", ""}
		for i, n := range sizes {
			lines = append(lines, leak(i+1, n)...)
		}
		for i := range 8 {
			lines = append(lines, fmt.Sprintf("end %d", i))
		}
		return lines
	}
	for name, c := range map[string]struct {
		sizes []int
		last  string // the line before the cut; "": none
	}{
		"short":                 {[]int{10, 10, 10}, ""},
		"in the third":          {[]int{20, 20, 20}, "    line 19 of leak 2"},
		"in the second":         {[]int{30, 60, 10}, "    line 29 of leak 1"},
		"at the second's end":   {[]int{22, 22, 23}, "    line 21 of leak 2"},
		"many":                  {[]int{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, "    line 4 of leak 7"},
		"the first is too long": {[]int{100, 3}, "    line 47 of leak 1"},
	} {
		all := build(c.sizes...)
		got := message.LimitLines(all)
		assert.True(t, len(got) <= message.MaxMessageLines, name)
		assert.Equal(t, all[len(all)-8:], got[len(got)-8:], name)
		cut := len(got) - 9
		if c.last == "" {
			assert.Equal(t, all, got, name)
			continue
		}
		assert.Equal(t, fmt.Sprintf("… %d more lines", len(all)-cut-8), got[cut], name)
		before := got[cut-1]
		if before == "" {
			before = got[cut-2]
		}
		assert.Equal(t, c.last, before, name)
	}
}

// TestWordsForMistakes checks that what is wrong with a selector says how it is written right.
func TestWordsForMistakes(t *testing.T) {
	for _, c := range []struct {
		option Option
		want   string
	}{
		{Root("app.srv.conns").None(), `but one with such a field: write Path("app.srv.conns")`},
		{Root("example.com/app.srv.conns[*]").None(), `write Path("example.com/app.srv.conns[*]")`},
		{Root("app.sessoins").None(), "did you mean example.com/app.sessions,"},
		{TypeNamed("func app.Serve.func3").None(), `TypeNamed("func app.Func.func*")`},
		{TypeNamed("app.Serve.func3").None(), "a closure has the type"},
		{TypeNamed("app.Sesion").None(), "(Type[T]() is checked by the compiler)"},
	} {
		w := newWorld(t, report(sessions(1)))
		ft, ok := w.assert(c.option)
		assert.True(t, !ok && strings.Contains(ft.errorText(), c.want), "%v: no %q in\n%s", c.option, c.want, ft.errorText())
	}
}

// TestWordsForEmptiedMap checks that a map without entries that has room for many says so.
func TestWordsForEmptiedMap(t *testing.T) {
	room := func(bytes, entries int64) *refscan.Report {
		m := global(node("example.com/app.cache", "map[string]int", 1, bytes), "/src/app/app.go", 5)
		m.Elems = entries
		return report(m)
	}
	for _, c := range []struct {
		bytes, entries int64
		said           bool
	}{{5 << 20, 0, true}, {4 << 10, 0, true}, {48, 0, false}, {5 << 20, 7, false}} {
		w := newWorld(t, room(c.bytes, c.entries))
		ft, ok := w.assert(Root("app.cache").None())
		assert.True(t, !ok)
		assert.Equal(t, c.said, strings.Contains(ft.errorText(), "map[string]int, 0 entries (a map does not give back the room"), ft.errorText())
	}
}
