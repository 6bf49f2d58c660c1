package page

import (
	"bufio"
	"errors"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

const (
	width     = 1200 // of the picture
	rowHeight = 18
	top       = 30  // room for the title
	smallest  = 0.4 // frames narrower than this are left out
	charWidth = 6.6 // of the font, about
	maxDepth  = 500
)

// A FlameGraph is a drawing of one kind of value of a profile. It needs no Graphviz, no network and
// no scripts of others.
type FlameGraph struct {
	title string
	unit  string
	root  *node
	rows  int
}

// NewFlameGraph prepares a drawing of the values with a unit ("bytes" or "count") of p. If there
// are several, it takes those in use, or the profile's default. The roots of references are at the
// top.
func NewFlameGraph(p *profile.Profile, unit, title string) (*FlameGraph, error) {
	index := ValueIndex(p, unit)
	if index < 0 {
		return nil, fmt.Errorf("the profile has no values in %s", unit)
	}
	g := &FlameGraph{title: title, unit: unit, root: flames(p, index)}
	if g.root.totalBytes == 0 {
		return nil, errors.New("the profile is empty")
	}
	g.walk(func(_ *node, depth int, _, _ float64) { g.rows = max(g.rows, depth+1) })
	return g, nil
}

// flames makes the tree of the values with an index. It leaves out negative values, as in a
// difference: they have no width.
func flames(p *profile.Profile, index int) *node {
	root := &node{name: "all"}
	for _, s := range p.Sample {
		if value := s.Value[index]; value > 0 {
			root.stack(s, func(*profile.Line) string { return "" }).Bytes += value
		}
	}
	root.sum()
	return root
}

// walk visits the frames that are wide enough, each before its children.
func (g *FlameGraph) walk(visit func(f *node, depth int, x, w float64)) {
	var each func(f *node, depth int, x float64)
	each = func(f *node, depth int, x float64) {
		w := float64(f.totalBytes) / float64(g.root.totalBytes) * width
		if w < smallest || depth > maxDepth {
			return
		}
		visit(f, depth, x, w)
		for _, c := range f.children {
			each(c, depth+1, x)
			x += float64(c.totalBytes) / float64(g.root.totalBytes) * width
		}
	}
	each(g.root, 0, 0)
}

// SVG writes the drawing as an SVG picture. Each frame has its name and figures as a tooltip.
func (g *FlameGraph) SVG(w io.Writer) error {
	b := bufio.NewWriter(w)
	height := top + g.rows*rowHeight + 4
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="monospace" font-size="11">`+"\n",
		width, height, width, height)
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" fill="#fff"/><text x="4" y="18" font-size="13">%s</text>`+"\n", html.EscapeString(g.title))
	g.walk(func(f *node, depth int, x, w float64) {
		y := top + depth*rowHeight
		fmt.Fprintf(b, `<g class="f" data-x="%.3f" data-w="%.3f"><title>%s</title><rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s" stroke="#fff"/>`,
			x, w, html.EscapeString(g.describe(f)), x, y, w, rowHeight-1, color(f.name))
		fmt.Fprintf(b, `<text x="%.2f" y="%d" data-name="%s">%s</text></g>`+"\n", x+3, y+13, html.EscapeString(f.name), html.EscapeString(clip(f.name, w)))
	})
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

// describe returns the tooltip of a frame.
func (g *FlameGraph) describe(f *node) string {
	return fmt.Sprintf("%s: %d %s, %.1f %%", f.name, f.totalBytes, g.unit, float64(f.totalBytes)/float64(g.root.totalBytes)*100)
}

// clip shortens a name to fit into a width.
func clip(name string, w float64) string {
	room := int((w - 6) / charWidth)
	switch {
	case utf8.RuneCountInString(name) <= room:
		return name
	case room < 4:
		return ""
	}
	return string([]rune(name)[:room-1]) + "…"
}

// color returns the color of a frame: equal names have equal colors.
func color(name string) string {
	h := fnv.New32a()
	h.Write([]byte(name))
	n := h.Sum32()
	return fmt.Sprintf("hsl(%d,%d%%,%d%%)", 10+n%45, 70+n/45%20, 66+n/900%12)
}
