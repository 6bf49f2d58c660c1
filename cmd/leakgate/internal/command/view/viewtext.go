package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	"github.com/leakgate/leakgate/refscan"
)

// text shows a run on a terminal: what is wrong, and, if trees are asked for, what each assertion
// found to be retained.
func (v *viewed) text(w io.Writer, trees bool) error {
	if v.Run == nil {
		if trees {
			return fmt.Errorf("-text shows runs, and this is a profile: go tool pprof -top shows profiles")
		}
		return nil
	}
	var b strings.Builder
	for _, p := range v.Run.Packages {
		for _, a := range p.Assertions {
			fmt.Fprintf(&b, "%s  %s.%s #%d\n", a.Verdict, p.ImportPath, a.Test, a.Seq)
			for _, f := range a.Findings {
				fmt.Fprintf(&b, "  %s  %s\n", f.ShortFingerprint(), f.Text)
			}
			if !trees {
				continue
			}
			r, err := page.ReadReport(v.Dir, a)
			switch {
			case err != nil:
				fmt.Fprintf(&b, "  %v\n", err)
			case r == nil:
				fmt.Fprintln(&b, "  no tree was kept: leakgate run keeps those of assertions that fail, with -artifacts all of all")
			default:
				textTree(&b, r.Fold())
			}
			b.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// What a tree on a terminal has: who wants all of it has the page.
const (
	textRoots  = 12
	textBelow  = 4
	textDepth  = 8
	textColumn = 100 // the longest line
)

// textTree writes the largest roots with the largest of what is below them, and says how much is
// left out.
func textTree(b *strings.Builder, r *refscan.Report) {
	fmt.Fprintf(b, "  %9s  %10s\n", "objects", "bytes")
	textNodes(b, r.Roots, textRoots, "", "", 0)
}

// A sized is a node with its total.
type sized struct {
	*refscan.Node
	objects, bytes int64
}

func textNodes(b *strings.Builder, nodes []*refscan.Node, most int, branch, indent string, depth int) {
	var all []sized
	for _, n := range nodes {
		objects, bytes := n.Total()
		if objects|bytes != 0 {
			all = append(all, sized{n, objects, bytes})
		}
	}
	slices.SortStableFunc(all, func(x, y sized) int {
		return cmp.Or(cmp.Compare(y.bytes, x.bytes), cmp.Compare(y.objects, x.objects))
	})
	shown := all[:min(most, len(all))]
	var objects, bytes int64
	for _, n := range all[len(shown):] {
		objects, bytes = objects+n.objects, bytes+n.bytes
	}
	for i, n := range shown {
		at, below := branch, indent
		if depth > 0 {
			at, below = indent+"├─ ", indent+"│  "
			if i == len(shown)-1 && objects|bytes == 0 {
				at, below = indent+"└─ ", indent+"   "
			}
		}
		textLine(b, n.objects, n.bytes, at+present.Printable(n.Name+"  "+shortType(n.Type)))
		switch {
		case depth+1 < textDepth:
			textNodes(b, n.Children, textBelow, "", below, depth+1)
		case len(n.Children) > 0:
			textLine(b, 0, 0, below+"└─ ...")
		}
	}
	if objects|bytes != 0 {
		at := ""
		if depth > 0 {
			at = indent + "└─ "
		}
		textLine(b, objects, bytes, fmt.Sprintf("%sand %d more", at, len(all)-len(shown)))
	}
}

func textLine(b *strings.Builder, objects, bytes int64, text string) {
	figures := fmt.Sprintf("  %9s  %10s  ", "", "")
	if objects|bytes != 0 {
		figures = fmt.Sprintf("  %9d  %10s  ", objects, present.Bytes(bytes))
	}
	runes := []rune(strings.TrimRight(text, " "))
	if room := textColumn - len(figures); len(runes) > room {
		runes = append(runes[:room-1], '…')
	}
	b.WriteString(figures + string(runes) + "\n")
}

// shortType leaves out the folders of import paths.
func shortType(name string) string {
	var b strings.Builder
	start := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && !strings.ContainsRune("*[](), ", rune(name[i])) {
			continue
		}
		part := name[start:i]
		b.WriteString(part[strings.LastIndexByte(part, '/')+1:])
		if i < len(name) {
			b.WriteByte(name[i])
		}
		start = i + 1
	}
	return b.String()
}
