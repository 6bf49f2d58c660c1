package leakcheck

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/refscan"
)

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
