package scanreport

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/refscan"
)

// The tree leaves out nodes with less than a twentieth of their root's bytes, and nodes below
// maxDepth.
const (
	smallPart = 20
	maxDepth  = 8
)

// WriteText writes what was scanned, how exact the scan is, and the roots that hold most, at most
// limit of them.
func (s *Scan) WriteText(w io.Writer, limit int) error {
	var b strings.Builder
	s.writeHeader(&b)
	r := s.Report.Fold()
	sort.SliceStable(r.Roots, func(i, j int) bool { return totalBytes(r.Roots[i]) > totalBytes(r.Roots[j]) })
	fmt.Fprintf(&b, "\n%14s  %10s  %10s\n", "cum objects", "cum bytes", "retained")
	for i, n := range r.Roots {
		if i == limit {
			fmt.Fprintf(&b, "%s hold less\n", textfmt.CountNoun(int64(len(r.Roots)-i), "more root"))
			break
		}
		writeNode(&b, r, n, totalBytes(n)/smallPart, "", "", 0)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Scan) writeHeader(b *strings.Builder) {
	r := s.Report
	// The tree counts values that share a block, and entries of maps, one by one.
	var objects int64
	for _, n := range r.Roots {
		o, _ := n.Total()
		objects += o
	}
	fmt.Fprintf(b, "%s of %s, %s: %s (values, and entries of maps) in %s, %s reachable\n", s.Source, s.Program, r.GoVersion,
		textfmt.CountNoun(objects, "object"), textfmt.CountNoun(r.Totals.LiveObjects, "heap block"), textfmt.ByteCount(r.Totals.LiveBytes))
	if stop := r.Stopped; stop != nil {
		fmt.Fprintf(b, "stopped:  %sgarbage collector: %s; %s, %s\n", s.pause(), stop.Phase, textfmt.CountNoun(int64(stop.Threads), "thread"), textfmt.CountNoun(int64(stop.Goroutines), "goroutine"))
		fmt.Fprintf(b, "guessed:  %s\n", guessed(stop))
		fmt.Fprintf(b, "audit:    %s\n", s.audit(stop))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(b, "warning:  %s\n", warning)
	}
}

func (s *Scan) pause() string {
	if s.Report.Pause == 0 {
		return ""
	}
	pause := fmt.Sprintf("for %.1f ms", s.Report.Pause.Seconds()*1000)
	if s.Attempts > 1 {
		pause += fmt.Sprintf(", at the %d. attempt", s.Attempts)
	}
	if s.NotForked != "" {
		pause += ", as long as it was read (" + s.NotForked + ")"
	}
	if s.Faults > 0 {
		pause += fmt.Sprintf(", then %s (1 to 2 us each)", textfmt.CountNoun(s.Faults, "page fault"))
	}
	return pause + "; "
}

func writeNode(b *strings.Builder, r *refscan.Report, n *refscan.Node, small int64, branch, below string, depth int) {
	retained := "-"
	if r.Retained {
		retained = textfmt.ByteCount(n.RetainedBytes)
	}
	objects, bytes := n.Total()
	fmt.Fprintf(b, "%14s  %10s  %10s  %s%s  %s", textfmt.Count(objects), textfmt.ByteCount(bytes), retained, branch, n.Name, n.Type)
	if n.Elems > 0 {
		fmt.Fprintf(b, ", %s entries", textfmt.Count(n.Elems))
	}
	if depth == 0 && n.Root.Kind == refscan.RootFrame {
		fmt.Fprintf(b, "  (%s)", textfmt.CountNoun(max(1, n.Root.Goroutines), "goroutine"))
	}
	b.WriteString("\n")
	if depth == maxDepth {
		return
	}
	var shown []*refscan.Node
	for _, c := range n.Children {
		if t := totalBytes(c); t > 0 && t >= small {
			shown = append(shown, c)
		}
	}
	sort.SliceStable(shown, func(i, j int) bool { return totalBytes(shown[i]) > totalBytes(shown[j]) })
	for i, c := range shown {
		line, next := textfmt.TreeLine(below, i == len(shown)-1)
		writeNode(b, r, c, small, line, next, depth+1)
	}
}

func totalBytes(n *refscan.Node) int64 {
	_, bytes := n.Total()
	return bytes
}
