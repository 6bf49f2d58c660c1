package scanreport

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/refscan"
)

// A Leak is a node that holds more than at an earlier scan.
type Leak struct {
	Root, Node    *refscan.Node // of the later scan, folded: where the path begins and ends
	Path, Type    string
	Entries       bool  // Before and After count entries of a map
	Before, After int64 // objects; 0 where only bytes have grown
	Bytes         int64 // by which the node has grown, with all below it
}

// A Growth has what a scan found in addition to an earlier scan of the same program.
type Growth struct {
	Leaks   []Leak // the one with the most bytes first
	Once    []Leak // those that had not grown before the earlier scan: see Steady
	Elapsed time.Duration
}

// Steady moves the leaks to Once that an earlier growth does not have, at the same path or one
// above or below it. A cache that fills has grown now or then; a leak goes on to grow.
func (g *Growth) Steady(before *Growth) {
	paths := make(map[refscan.NodeKey][]string) // by root
	for _, l := range before.Leaks {
		root := l.Root.Key()
		paths[root] = append(paths[root], l.Path)
	}
	all := g.Leaks
	g.Leaks = nil
	for _, l := range all {
		if slices.ContainsFunc(paths[l.Root.Key()], func(path string) bool {
			return strings.HasPrefix(path, l.Path) || strings.HasPrefix(l.Path, path)
		}) {
			g.Leaks = append(g.Leaks, l)
		} else {
			g.Once = append(g.Once, l)
		}
	}
}

// Since compares a scan with an earlier one of the same program. It is an error if the other scan
// was made later.
func (s *Scan) Since(earlier *Scan) (*Growth, error) {
	g := &Growth{Elapsed: s.Taken.Sub(earlier.Taken)}
	if g.Elapsed < 0 {
		return nil, fmt.Errorf("the report to compare with was made %v later, not earlier", -g.Elapsed)
	}
	old := byKey(earlier.Report.Fold().Roots)
	for _, n := range s.Report.Fold().Roots {
		// The runtime's list of timers alone holds those that were stopped.
		if n.Name != symbol.TimerHeaps && !symbol.IsCompilerCache(n.Name) {
			g.compare(n, n.Name, n, old[n.Key()], n.Root.Package != "" && symbol.IsRuntime(n.Root.Package))
		}
	}
	sort.SliceStable(g.Leaks, func(i, j int) bool { return g.Leaks[i].Bytes > g.Leaks[j].Bytes })
	return g, nil
}

func byKey(nodes []*refscan.Node) map[refscan.NodeKey]*refscan.Node {
	m := make(map[refscan.NodeKey]*refscan.Node)
	for _, n := range nodes {
		m[n.Key()] = n
	}
	return m
}

// compare adds the leaks at a node and below it, and reports whether there are any. old is nil for
// a new node. What additional objects hold belongs to them, and is no leak of its own. What a
// sync.Pool holds goes with the next collections, and each of them moves the list of pools. What
// the runtime holds for itself is no leak; own says that all nodes above n are of it.
func (g *Growth) compare(root *refscan.Node, path string, n, old *refscan.Node, own bool) bool {
	if strings.Contains(n.Type, "sync.poolLocal") {
		return false
	}
	isList := n == root && n.Objects == 0 // of no type, such as the objects of the scheduler
	own = own && (isList || symbol.IsRuntimeType(n.Type)) || n == root && n.Root.Package == "sync" && n.Type == "[]*sync.Pool"
	var before refscan.Node
	var bytesBefore int64
	if old != nil {
		before = *old
		_, bytesBefore = old.Total()
	}
	_, bytes := n.Total()
	leak := Leak{Root: root, Node: n, Path: path, Type: n.Type, Bytes: bytes - bytesBefore}
	if !own && n.Objects > before.Objects && bytes > bytesBefore {
		leak.Before, leak.After = before.Objects, n.Objects
		g.Leaks = append(g.Leaks, leak)
		return true
	}
	grew := false
	children := byKey(before.Children)
	for _, c := range n.Children {
		if g.compare(root, symbol.JoinPath(path, c.Name), c, children[c.Key()], own) {
			grew = true
		}
	}
	if own || grew || n.Bytes <= before.Bytes {
		return grew
	}
	// A table, or an array behind a slice, has become larger.
	leak.Bytes = n.Bytes - before.Bytes
	if n.Elems > before.Elems {
		leak.Entries, leak.Before, leak.After = true, before.Elems, n.Elems
	}
	g.Leaks = append(g.Leaks, leak)
	return true
}

// WriteText writes at most limit leaks, in the words of leakcheck.AssertNoGrowth.
func (g *Growth) WriteText(w io.Writer, limit int) error {
	var b strings.Builder
	switch {
	case len(g.Leaks) > 0:
		fmt.Fprintf(&b, "memory has grown since the earlier scan (%s)", textfmt.CountNoun(int64(len(g.Leaks)), "leak"))
	case len(g.Once) > 0:
		b.WriteString("nothing that had grown before has grown since the earlier scan")
	default:
		b.WriteString("nothing has grown since the earlier scan")
	}
	if g.Elapsed > 0 {
		fmt.Fprintf(&b, ", %v ago", g.Elapsed.Round(time.Millisecond))
	}
	b.WriteString("\n")
	g.writeLeaks(&b, g.Leaks, limit)
	if len(g.Once) > 0 {
		b.WriteString("\nhas grown since the earlier scan, but had not before it, so that it may be a cache that fills; another scan tells:\n")
		g.writeLeaks(&b, g.Once, limit)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *Growth) writeLeaks(b *strings.Builder, all []Leak, limit int) {
	for i, l := range all {
		if i == limit {
			fmt.Fprintf(b, "… and %d more\n", len(all)-i)
			break
		}
		fmt.Fprintf(b, "\n%s via %s\n", g.rate(l), l.Path)
		if l.After > 0 {
			noun := "objects"
			if l.Entries {
				noun = "entries"
			}
			fmt.Fprintf(b, "    %s: %s → %s\n", noun, textfmt.Count(l.Before), textfmt.Count(l.After))
		}
		fmt.Fprintf(b, "    %s\n", heldBy(l.Root))
	}
}

// rate is "+1.00 *app.Session/s (+4.2 KiB/s)"; without a time between the scans, "+60 *app.Session
// (+4.2 KiB)".
func (g *Growth) rate(l Leak) string {
	seconds := g.Elapsed.Seconds()
	number, bytes := "+"+textfmt.Count(l.After-l.Before), "+"+textfmt.ByteCount(l.Bytes)
	per := ""
	if seconds > 0 {
		per = "/s"
		number = fmt.Sprintf("%+.2f", float64(l.After-l.Before)/seconds)
		bytes = "+" + textfmt.ByteCount(int64(float64(l.Bytes)/seconds)) + per
	}
	switch typ := typeText(l.Type); {
	case l.Entries:
		return fmt.Sprintf("%s entries%s (%s) in %s", number, per, bytes, typ)
	case l.After == 0:
		return fmt.Sprintf("%s in %s", bytes, typ)
	default:
		return fmt.Sprintf("%s %s%s (%s)", number, typ, per, bytes)
	}
}

func typeText(t string) string {
	if t == "" {
		return "(object of unknown type)"
	}
	return t
}

// heldBy describes a root in words.
func heldBy(n *refscan.Node) string {
	r := n.Root
	at := ""
	if r.File != "" && r.Line > 0 {
		at = fmt.Sprintf(" (%s:%d)", r.File, r.Line)
	}
	switch r.Kind {
	case refscan.RootGlobal:
		return "held by the package variable " + n.Name + at
	case refscan.RootFrame:
		s := "held by the variable " + n.Name + at
		if r.Goroutine != "" {
			s += fmt.Sprintf(", of %s in %s", textfmt.CountNoun(max(1, r.Goroutines), "goroutine"), r.Goroutine)
		}
		if r.CreatedBy != "" {
			s += fmt.Sprintf(", started by %s (%s)", r.CreatedBy, r.CreatedAt)
		}
		return s
	case refscan.RootTimer:
		return fmt.Sprintf("held by %s that is pending", textfmt.CountNoun(max(1, r.Timers), "timer"))
	case refscan.RootFinalizer:
		return "held by a finalizer"
	case refscan.RootCleanup:
		return "held by a cleanup"
	default:
		return "held by the runtime: " + n.Name
	}
}
