package results

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/refscan"
)

// text shows on a terminal the functions of a profile, or the findings of a run, and, with -text or
// -test, what each assertion found to be retained.
func (v *viewed) text(w io.Writer, o *ViewOptions) error {
	if v.Run == nil {
		if !o.text {
			return nil
		}
		return page.WriteFunctions(w, v.Profile, int(o.top), textColumns)
	}
	pages := v.pages()
	var b strings.Builder
	for _, p := range v.Run.Packages {
		for _, a := range p.Assertions {
			fmt.Fprintf(&b, "%s  %s #%d\n", a.Verdict, cli.PlainLine(p.ImportPath+"."+a.Test), a.Seq)
			for _, f := range a.Findings {
				b.WriteString(wrapped(f.ShortFingerprint()+"  "+f.Text, "  ", textColumns))
			}
			if !o.text && o.test == "" {
				continue
			}
			textFound(&b, pages.Find(a), symbol.NamedModules(a.Modules), int(o.top))
			b.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Limits of a tree on a terminal; the page has all of it.
const (
	textBelow   = 4
	textDepth   = 8
	textColumns = 80 // the longest line
)

// textFound writes what an assertion found, compared with f.Before if there is one, at most most
// roots of it. Those of the standard library are one, unless there are no others or all are shown.
func textFound(b *strings.Builder, f *page.Found, modules *symbol.Modules, most int) {
	for _, problem := range f.Problems {
		fmt.Fprintf(b, "  %s\n", problem)
	}
	if f.Report == nil {
		if len(f.Problems) == 0 {
			fmt.Fprintln(b, "  no tree was kept: leakgate run keeps those of assertions that fail, with -artifacts all of all")
		}
		return
	}
	t := textTree{Builder: b, most: most}
	if most < math.MaxInt && slices.ContainsFunc(f.Report.Roots, func(n *refscan.Node) bool { return !isStandard(n, modules) }) {
		t.folds = modules
	}
	var before []*refscan.Node
	if f.Before != nil {
		t.compares = true
		before = f.Before.Fold().Roots
		fmt.Fprintf(b, "  compared with the %s:\n", f.Title)
	}
	t.write(f.Report.Fold().Roots, before)
	if f.Native != nil {
		b.WriteString("  native blocks:\n")
		t.compares = false
		t.write(f.Native.Fold().Roots, nil)
	}
}

// A textTree writes the largest roots, or those that grew most, with the largest nodes below them,
// and says how much it leaves out.
type textTree struct {
	*strings.Builder
	compares bool            // lines have the growth, too, and the largest growth is first
	most     int             // roots
	folds    *symbol.Modules // tells roots of the standard library, which are one then; nil: none is
}

func (t *textTree) write(nodes, before []*refscan.Node) {
	fmt.Fprintf(t, "%11s %10s", "cum objects", "cum bytes")
	if t.compares {
		fmt.Fprintf(t, " %9s %11s", "+objects", "+bytes")
	}
	t.WriteString("\n")
	nodes, standard := t.fold(nodes)
	before, standardBefore := t.fold(before)
	all := measureAll(nodes, before)
	if len(standard)+len(standardBefore) > 0 {
		m := measured{name: "runtime and standard library"}
		for _, s := range measureAll(standard, standardBefore) {
			m.total, m.more = m.total.plus(s.total), m.more.plus(s.more)
		}
		all = append(all, &m)
	}
	t.nodes(all, t.most, "", "", 0)
}

// fold separates the roots of the standard library.
func (t *textTree) fold(roots []*refscan.Node) (others, standard []*refscan.Node) {
	for _, n := range roots {
		if t.folds != nil && isStandard(n, t.folds) {
			standard = append(standard, n)
		} else {
			others = append(others, n)
		}
	}
	return others, standard
}

func isStandard(root *refscan.Node, modules *symbol.Modules) bool {
	return root.Root != nil && modules.IsStandard(root.Root.Package)
}

// A figure is objects and bytes.
type figure struct{ objects, bytes int64 }

func (f figure) plus(g figure) figure { return figure{f.objects + g.objects, f.bytes + g.bytes} }

// A measured sums nodes of one name and type: their totals, and how much those grew.
type measured struct {
	name, typ   string
	total, more figure
	now, before []*refscan.Node // their children
}

// isSame is 1 if objects and bytes have not changed, 0 otherwise.
func (m *measured) isSame() int {
	if m.more == (figure{}) {
		return 1
	}
	return 0
}

// measureAll pairs nodes with those of before. It includes nodes that only before has.
func measureAll(nodes, before []*refscan.Node) []*measured {
	type key struct {
		name, typ string
		kind      refscan.RootKind
	}
	at := make(map[key]*measured)
	var all []*measured
	of := func(n *refscan.Node) *measured {
		k := key{name: n.Name, typ: n.Type}
		if n.Root != nil {
			k.kind = n.Root.Kind
		}
		if at[k] == nil {
			at[k] = &measured{name: n.Name, typ: n.Type}
			all = append(all, at[k])
		}
		return at[k]
	}
	for _, n := range nodes {
		m := of(n)
		objects, bytes := n.Total()
		m.total, m.more = m.total.plus(figure{objects, bytes}), m.more.plus(figure{objects, bytes})
		m.now = append(m.now, n.Children...)
	}
	for _, n := range before {
		m := of(n)
		objects, bytes := n.Total()
		m.more = m.more.plus(figure{-objects, -bytes})
		m.before = append(m.before, n.Children...)
	}
	return all
}

func (t *textTree) nodes(all []*measured, most int, branch, indent string, depth int) {
	all = slices.DeleteFunc(all, func(m *measured) bool { return m.total == figure{} && (!t.compares || m.more == figure{}) })
	slices.SortStableFunc(all, func(x, y *measured) int {
		if t.compares {
			if c := cmp.Or(x.isSame()-y.isSame(), cmp.Compare(y.more.bytes, x.more.bytes), cmp.Compare(y.more.objects, x.more.objects)); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(y.total.bytes, x.total.bytes), cmp.Compare(y.total.objects, x.total.objects))
	})
	if t.compares {
		// Unchanged nodes are shown only among roots, if all roots are unchanged.
		changed := len(all)
		for _, m := range all {
			changed -= m.isSame()
		}
		if changed == 0 && depth > 0 {
			return
		}
		if changed > 0 {
			most = min(most, changed)
		}
	}
	shown := all[:min(most, len(all))]
	var left measured
	for _, m := range all[len(shown):] {
		left.total, left.more = left.total.plus(m.total), left.more.plus(m.more)
	}
	for i, m := range shown {
		at, below := branch, indent
		if depth > 0 {
			at, below = textfmt.TreeLine(indent, i == len(shown)-1 && len(shown) == len(all))
		}
		t.line(m, at+present.Printable(m.name+"  "+shortType(m.typ)))
		switch {
		case depth+1 < textDepth:
			t.nodes(measureAll(m.now, m.before), textBelow, "", below, depth+1)
		case len(m.now) > 0:
			t.line(nil, below+"└─ ...")
		}
	}
	if len(shown) < len(all) {
		at := ""
		if depth > 0 {
			at = indent + "└─ "
		}
		t.line(&left, fmt.Sprintf("%sand %d more", at, len(all)-len(shown)))
	}
}

// line writes a line, with figures if there are any.
func (t *textTree) line(m *measured, text string) {
	figures := fmt.Sprintf("%11s %10s", "", "")
	if m != nil {
		figures = fmt.Sprintf("%11s %10s", textfmt.Count(m.total.objects), present.Bytes(m.total.bytes))
	}
	switch {
	case !t.compares:
	case m == nil || m.more == figure{}:
		figures += fmt.Sprintf(" %9s %11s", "", "")
	default:
		figures += fmt.Sprintf(" %9s %11s", signed(m.more.objects, textfmt.Count), signed(m.more.bytes, present.Bytes))
	}
	runes := []rune("  " + strings.TrimRight(text, " "))
	if room := textColumns - len(figures); len(runes) > room {
		runes = append(runes[:room-1], '…')
	}
	t.WriteString(figures + string(runes) + "\n")
}

// signed writes a difference with its sign.
func signed(n int64, text func(int64) string) string {
	if n < 0 {
		return "-" + text(-n)
	}
	return "+" + text(n)
}

// wrapped breaks a text into indented lines of at most columns, at spaces.
func wrapped(text, indent string, columns int) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if line != indent && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			b.WriteString(line + "\n")
			line = indent + "  "
		} else if line != indent {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

// shortType removes the folders of import paths from a type's name.
func shortType(name string) string {
	var b strings.Builder
	start := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && !strings.ContainsRune("*[](), ", rune(name[i])) {
			continue
		}
		b.WriteString(symbol.Short(name[start:i]))
		if i < len(name) {
			b.WriteByte(name[i])
		}
		start = i + 1
	}
	return b.String()
}
