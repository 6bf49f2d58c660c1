package leakcheck

import (
	"strings"
	"testing"
)

func TestTraceMarksSuspects(t *testing.T) {
	conn := node("$mapval", "*net.conn", 3, 96, node("fd", "*net.netFD", 3, 384, node("pfd", "[]uint8", 3, 3072)))
	fd := conn.Children[0]
	root := global(withElems(node("example.com/app.conns", "map[string]*net.conn", 1, 48, conn), 3), "/src/app/conns.go", 7)
	draw := func(grows int) string {
		deepest := growForest(report(root))[0]
		for len(deepest.children) > 0 {
			deepest = deepest.children[0]
		}
		tr := traceTo(deepest, false, bytesOf)
		if grows >= 0 {
			tr.grows = tr.branches[grows]
		}
		var marks []string
		for _, line := range tr.lines()[1:] {
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
	if got, want := draw(1), "map[string]*net.conn, 3 entries|~|*net.netFD|[]uint8|"+suspectLegend; got != want {
		t.Errorf("what the map refers to grows: %s", got)
	}
	fd.Ended, fd.EndedState = 2, "closed"
	if got, want := draw(-1), "map[string]*net.conn, 3 entries|*net.conn|*net.netFD, 2 of them closed|[]uint8"; got != want {
		t.Errorf("some are over: %s", got)
	}
	fd.Ended = 3
	if got, want := draw(-1), "map[string]*net.conn, 3 entries|~|~|[]uint8|"+suspectLegend; got != want {
		t.Errorf("all are over: %s", got)
	}
	if got, want := draw(3), "map[string]*net.conn, 3 entries|~|~|[]uint8|"+suspectLegend; got != want {
		t.Errorf("what grows hangs on what is over: %s", got)
	}
}

func TestGrowthOfWhatIsOver(t *testing.T) {
	conns := func(all, closed int64) forest {
		n := node("$mapval", "*net.conn", all, 96*all)
		n.Ended, n.EndedState = closed, "closed"
		return growForest(report(global(node("example.com/app.conns", "map[string]*net.conn", 1, 48, n), "", 0)))
	}
	grown := conns(7, 4).growth(conns(4, 4))
	if b := grown[0].children[0]; b.objects != 3 || b.ended != 0 {
		t.Errorf("%d objects were added, %d of them are over; want 3 and 0", b.objects, b.ended)
	}
}
