package leakcheck

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

func TestTraceMarksSuspects(t *testing.T) {
	conn := node("$mapval", "*net.conn", 3, 96, node("fd", "*net.netFD", 3, 384, node("pfd", "[]uint8", 3, 3072)))
	fd := conn.Children[0]
	root := global(withElems(node("example.com/app.conns", "map[string]*net.conn", 1, 48, conn), 3), "/src/app/conns.go", 7)
	draw := func(grows int) string {
		deepest := tree.GrowForest(report(root))[0]
		for len(deepest.Children) > 0 {
			deepest = deepest.Children[0]
		}
		tr := tree.TraceTo(deepest, false, tree.BytesOf)
		if grows >= 0 {
			tr.Grows = tr.Branches[grows]
		}
		var marks []string
		for _, line := range message.Lines(tr)[1:] {
			marks = append(marks, strings.TrimSpace(line[strings.LastIndex(line, "  ")+1:]))
		}
		return strings.Join(marks, "|")
	}
	nothing := "map[string]*net.conn, 3 entries|*net.conn|*net.netFD|[]uint8"
	if got := draw(-1); got != nothing {
		t.Errorf("nothing is known: %s", got)
	}
	if got := draw(0); got != nothing {
		t.Errorf("the variable itself grows, no reference is suspect: %s", got)
	}
	if got, want := draw(1), "map[string]*net.conn, 3 entries|~|*net.netFD|[]uint8|"+message.SuspectLegend; got != want {
		t.Errorf("what the map refers to grows: %s", got)
	}
	fd.Ended, fd.EndedState = 2, "closed"
	if got, want := draw(-1), "map[string]*net.conn, 3 entries|*net.conn|*net.netFD, 2 of them closed|[]uint8"; got != want {
		t.Errorf("some are over: %s", got)
	}
	fd.Ended = 3
	if got, want := draw(-1), "map[string]*net.conn, 3 entries|~|~|[]uint8|"+message.SuspectLegend; got != want {
		t.Errorf("all are over: %s", got)
	}
	if got, want := draw(3), "map[string]*net.conn, 3 entries|~|~|[]uint8|"+message.SuspectLegend; got != want {
		t.Errorf("what grows hangs on what is over: %s", got)
	}
}

func TestGrowthOfWhatIsOver(t *testing.T) {
	conns := func(all, closed int64) tree.Forest {
		n := node("$mapval", "*net.conn", all, 96*all)
		n.Ended, n.EndedState = closed, "closed"
		return tree.GrowForest(report(global(node("example.com/app.conns", "map[string]*net.conn", 1, 48, n), "", 0)))
	}
	grown := conns(7, 4).Growth(conns(4, 4))
	if b := grown[0].Children[0]; b.Objects != 3 || b.Ended != 0 {
		t.Errorf("%d objects were added, %d of them are over; want 3 and 0", b.Objects, b.Ended)
	}
}

// A slice whose array holds more than its elements is marked so in the message, and that is the
// usual cause of its growth.
func TestBeyondTheLength(t *testing.T) {
	batch := func(beyond, objects, length int64) *tree.Branch {
		elem := node("[0]", "*example.com/app.Session", objects, 64*objects)
		elem.Beyond = beyond
		array := node("first", "[]*example.com/app.Session", 1, 8192, elem)
		if beyond > 0 {
			array.Len, array.Cap = length, 1024
		}
		return tree.GrowForest(report(global(node("example.com/app.theBatch", "*example.com/app.Batch", 1, 24, array), "", 0)))[0].Children[0]
	}
	const cause = "elements beyond the length are kept alive: clear them before s = s[:n] (clear, slices.Delete)"
	for _, c := range []struct {
		beyond, objects, length int64
		want, cause             string
	}{
		{999, 1000, 1, "  []*app.Session, len 1, cap 1,024; 999 of these lie beyond the length", cause},
		{2000, 2001, 1, "  []*app.Session, len 1, cap 1,024; 2,000 objects lie beyond the length", cause},
		{10, 1000, 990, "  []*app.Session, len 990, cap 1,024; 10 of these lie beyond the length", ""},
		{0, 1000, 1000, "  []*app.Session", ""},
	} {
		b := batch(c.beyond, c.objects, c.length)
		if got := message.Describe(b); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		for _, at := range []*tree.Branch{b, b.Children[0]} {
			if got := message.HeapCause(at.Line(), func(string) bool { return true }); got != c.cause {
				t.Errorf("%d of %d: the cause of %s is %q, want %q", c.beyond, c.objects, at.Path, got, c.cause)
			}
		}
	}
	before := tree.GrowForest(report(global(node("example.com/app.theBatch", "*example.com/app.Batch", 1, 24), "", 0)))
	now := tree.Forest{batch(999, 1000, 1).Parent}
	grown := now.Growth(before)[0].Children[0]
	if got := message.Describe(grown); !strings.HasSuffix(got, "999 of these lie beyond the length") {
		t.Errorf("of what grew: %q", got)
	}
	if got := message.Describe(now.Growth(now)[0].Children[0]); got != "  []*app.Session" {
		t.Errorf("of what did not grow: %q", got)
	}
}

// A value without a name is described by its contents.
func TestUnnamedSlots(t *testing.T) {
	held := func(typ string, children ...*refscan.Node) string {
		n := frame(node("example.com/app.TestX.$temporary", typ, 1, 8, children...), refscan.RootInfo{Func: "example.com/app.TestX", Test: true, Caller: true})
		return message.HeldBy(tree.GrowForest(report(n))[0], &environ.Environment{})[0]
	}
	for typ, want := range map[string]string{
		"func example.com/app.TestX.func1": "held by your test itself: the function example.com/app.TestX.func1, which example.com/app.TestX has deferred or passes on",
		"chan struct {}":                   "held by your test itself: a channel that example.com/app.TestX waits for (no variable has it any more)",
		"[]*example.com/app.Session":       "held by your test itself: a temporary value of example.com/app.TestX, such as what a deferred call or a closure refers to",
	} {
		if got := held(typ); got != want {
			t.Errorf("%s: %s", typ, got)
		}
	}
	want := "held by your test itself: a map of example.com/app.TestX (one that never leaves its function has no name on the stack)"
	for _, typ := range []string{"[]noalg.map.group[*example.com/app.Session]bool", "*map.table[string]int"} {
		if got := held("chan int", node("?", typ, 1, 4096)); got != want {
			t.Errorf("%s: %s", typ, got)
		}
	}
}
