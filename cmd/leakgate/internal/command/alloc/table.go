package alloc

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocrun"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
)

func writeJSON(w io.Writer, r *report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// print writes the tables of each package.
func (o *Options) print(w io.Writer, r *report) error {
	var b strings.Builder
	for i, p := range r.Packages {
		if i > 0 {
			b.WriteString("\n")
		}
		o.printPackage(&b, p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (o *Options) printPackage(b *strings.Builder, r *allocrun.Result) {
	if r.Untraced == "" {
		fmt.Fprintf(b, "%s: %s allocated\n", r.Package, textfmt.CountNoun(r.Objects, "object"))
		o.printTypes(b, r)
	} else {
		fmt.Fprintf(b, "%s: %s allocated, types not known\n", r.Package, textfmt.CountNoun(r.SiteObjects, "object"))
	}
	o.printSites(b, r)
}

// printTypes writes the types with the most objects.
func (o *Options) printTypes(b *strings.Builder, r *allocrun.Result) {
	fmt.Fprintf(b, "\n%12s %12s  %5s  %s\n", "objects", "bytes", "share", "type")
	about := ""
	if r.UnsizedObjects > 0 {
		about = "~"
	}
	twice := make(map[string]int) // types of each name: packages may share theirs
	for _, t := range r.Types {
		twice[t.Name]++
	}
	var rest, restBytes int64
	for i, t := range r.Types {
		if i >= int(o.top) {
			rest += t.Objects
			restBytes += t.Bytes
			continue
		}
		name := t.Name
		if twice[t.Name] > 1 && t.Package != "" {
			name += " of " + t.Package
		}
		fmt.Fprintf(b, "%12s %12s  %s  %s\n", textfmt.Count(t.Objects), about+textfmt.ByteCount(t.Bytes), share(t.Objects, r.Objects), name)
		printOf(b, t.Of)
	}
	if rest > 0 {
		fmt.Fprintf(b, "%12s %12s  %s  and %d more types (-top 0 shows all)\n", textfmt.Count(rest), about+textfmt.ByteCount(restBytes), share(rest, r.Objects), len(r.Types)-int(o.top))
	}
	if about != "" {
		fmt.Fprintf(b, "~: the size of %s is told by the order of events alone\n", textfmt.CountNoun(r.UnsizedObjects, "object"))
	}
}

// printSites writes the lines with the most objects, and the objects that belong to no line.
func (o *Options) printSites(b *strings.Builder, r *allocrun.Result) {
	fmt.Fprintf(b, "\n%12s %12s  %5s  %s\n", "objects", "bytes", "share", "allocated at")
	total := max(r.Objects, r.SiteObjects)
	var rest, restBytes int64
	for i, s := range r.Sites {
		if i >= int(o.top) {
			rest += s.Objects
			restBytes += s.Bytes
			continue
		}
		at := shortName(s.Func)
		if s.File != "" {
			at += fmt.Sprintf(" (%s:%d)", filepath.Base(s.File), s.Line)
		}
		fmt.Fprintf(b, "%12s %12s  %s  %s\n", textfmt.Count(s.Objects), textfmt.ByteCount(s.Bytes), share(s.Objects, total), at)
		printCallees(b, s)
		printOf(b, s.Types)
	}
	if rest > 0 {
		fmt.Fprintf(b, "%12s %12s  %s  and %d more lines (-top 0 shows all)\n", textfmt.Count(rest), textfmt.ByteCount(restBytes), share(rest, total), len(r.Sites)-int(o.top))
	}
	if missing := r.Objects - r.SiteObjects; missing > 0 {
		fmt.Fprintf(b, "%12s %12s  %s  (at no line: allocated before the profiler began, or after its profile)\n", textfmt.Count(missing), "", share(missing, total))
	}
}

// shownCallees is how many functions that allocate for a line are shown.
const shownCallees = 3

// printCallees writes which functions of other modules allocated for a line.
func printCallees(b *strings.Builder, s *allocrun.Site) {
	for i, c := range s.By {
		if i == shownCallees {
			fmt.Fprintf(b, "%12s %12s  %5s     in %d more functions\n", "", "", "", len(s.By)-i)
			return
		}
		fmt.Fprintf(b, "%12s %12s  %5s     %s in %s\n", "", "", "", textfmt.Count(c.Objects), shortName(c.Func))
	}
}

// shownTypes is how many types of a line are shown.
const shownTypes = 3

// printOf writes the types of a line's objects, as far as the code tells them.
func printOf(b *strings.Builder, types []*allocrun.SiteType) {
	if len(types) == 0 {
		return
	}
	var parts []string
	for i, t := range types {
		if i == shownTypes {
			parts = append(parts, fmt.Sprintf("%d more", len(types)-i))
			break
		}
		parts = append(parts, textfmt.Count(t.Objects)+" "+textfmt.Abridge(t.Name, maxTypeShown))
	}
	fmt.Fprintf(b, "%12s %12s  %5s     of %s\n", "", "", "", strings.Join(parts, ", "))
}

// maxTypeShown is how much of a type's name is shown beside others.
const maxTypeShown = 60

// shortName returns a function's name without the path of its package, and without the type
// arguments of a generic function.
func shortName(name string) string {
	if strings.HasPrefix(name, "(") {
		return name // the text for stacks without a line
	}
	brackets := ""
	if open, end := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']'); open >= 0 && end > open {
		name, brackets = name[:open], "[...]"+name[end+1:]
	}
	return symbol.Short(name) + brackets
}

// share is a part of a whole, in percent.
func share(part, whole int64) string {
	if whole == 0 {
		return "     -"
	}
	return fmt.Sprintf("%4.1f%%", 100*float64(part)/float64(whole))
}
