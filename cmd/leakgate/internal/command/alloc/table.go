package alloc

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
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

// A table writes rows. Where figures are estimates, it has a column for the error of objects.
type table struct {
	*strings.Builder
	estimated bool
}

func (t table) row(objects, margin, bytes, share, text string) {
	if t.estimated {
		objects = fmt.Sprintf("%12s %6s", objects, margin)
	}
	fmt.Fprintf(t, "%12s %12s  %5s  %s\n", objects, bytes, share, text)
}

// more writes a line below a row.
func (t table) more(text string) { t.row("", "", "", "", text) }

// margin is the error of a row's objects: "±3%".
func margin(of, objects int64) string {
	if of == 0 || objects == 0 {
		return ""
	}
	return fmt.Sprintf("±%.0f%%", math.Ceil(100*float64(of)/float64(objects)))
}

// printTypes writes the types with the most objects.
func (o *Options) printTypes(b *strings.Builder, r *allocrun.Result) {
	to := table{b, r.Sampling != nil && r.Sampling.Rate > 1}
	b.WriteString("\n")
	to.row("objects", "±", "bytes", "share", "type")
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
		to.row(textfmt.Count(t.Objects), margin(t.Error, t.Objects), about+textfmt.ByteCount(t.Bytes), share(t.Objects, r.Objects), name)
		printOf(to, t.Of)
	}
	if rest > 0 {
		to.row(textfmt.Count(rest), "", about+textfmt.ByteCount(restBytes), share(rest, r.Objects), fmt.Sprintf("and %d more types (-top 0 shows all)", len(r.Types)-int(o.top)))
	}
	if about != "" {
		fmt.Fprintf(b, "~: the size of %s is told by the order of events alone\n", textfmt.CountNoun(r.UnsizedObjects, "object"))
	}
	if r.SmallObjects > 0 {
		fmt.Fprintf(b, "%s of at most 16 bytes, of no type, with 16 bytes each: an ordinary run puts several into one block\n", textfmt.CountNoun(r.SmallObjects, "object"))
	}
}

// printSites writes the lines with the most objects, and the objects that belong to no line.
func (o *Options) printSites(b *strings.Builder, r *allocrun.Result) {
	to := table{b, r.Sampling != nil && r.Sampling.Rate > 1}
	b.WriteString("\n")
	to.row("objects", "±", "bytes", "share", "allocated at")
	total := max(r.Objects, r.SiteObjects)
	var rest, restBytes int64
	for i, s := range r.Sites {
		if i >= int(o.top) {
			rest += s.Objects
			restBytes += s.Bytes
			continue
		}
		to.row(textfmt.Count(s.Objects), margin(s.Error, s.Objects), textfmt.ByteCount(s.Bytes), share(s.Objects, total), placed(s.Func, s.File, s.Line))
		printCallees(to, s)
		printOf(to, s.Types)
	}
	if rest > 0 {
		to.row(textfmt.Count(rest), "", textfmt.ByteCount(restBytes), share(rest, total), fmt.Sprintf("and %d more lines (-top 0 shows all)", len(r.Sites)-int(o.top)))
	}
	if missing := r.Objects - r.SiteObjects; missing > 0 {
		to.row(textfmt.Count(missing), "", "", share(missing, total), "(at no line: allocated before the profiler began, or after its profile)")
	}
}

// placed returns a function's short name, with the line if there is one.
func placed(function, file string, line int64) string {
	if file == "" {
		return shortName(function)
	}
	return fmt.Sprintf("%s (%s:%d)", shortName(function), filepath.Base(file), line)
}

// shownCallees is how many functions that allocate for a line are shown.
const shownCallees = 3

// printCallees writes which functions of other modules allocated for a line.
func printCallees(to table, s *allocrun.Site) {
	for i, c := range s.By {
		if i == shownCallees {
			to.more(fmt.Sprintf("   in %d more functions", len(s.By)-i))
			return
		}
		to.more(fmt.Sprintf("   %s in %s", textfmt.Count(c.Objects), shortName(c.Func)))
	}
}

// shownTypes is how many types of a line are shown.
const shownTypes = 3

// printOf writes the types of a line's objects, as far as the code tells them.
func printOf(to table, types []*allocrun.SiteType) {
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
	to.more("   of " + strings.Join(parts, ", "))
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
