package check

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// cutLines returns the golden-file lines on what cutting each branch that the selectors select
// would free.
func cutLines(selectors []request.Selector, f tree.Forest) []golden.Measurement {
	var lines []golden.Measurement
	done := make(map[*tree.Branch]bool)
	for _, s := range selectors {
		for _, b := range s.Selects(f) {
			if done[b] || b.Retained == (tree.Tally{}) {
				continue
			}
			done[b] = true
			m := golden.Measurement{
				Path: tree.RetainedLine + b.Path, Type: b.Typ,
				Objects: b.Retained.Objects, Bytes: b.Retained.Bytes, BytesTolerance: tree.OneStep,
			}
			if b.Varies() {
				m.Objects = 0
			}
			lines = append(lines, m)
		}
	}
	return tree.MergeLines(lines)
}

// Limits on what a golden file spells out of a root that is new to it. Branches that lie deeper, or
// make more lines, are summed up in lines "path.**".
const (
	maxGoldenDepth = 8  // edges below the root
	maxGoldenLines = 40 // a root
)

// A Ruler makes the lines of a golden file.
type Ruler struct {
	Modules *symbol.Modules        // of the program
	Listed  func(root string) bool // reports whether the file has lines for a root already
}

// Measure returns the lines that a forest makes. The roots that the file already has are spelled
// out as far as maxGoldenDepth, since the file's own patterns say what to sum up; the others also
// keep to maxGoldenLines.
func (r *Ruler) Measure(f tree.Forest) []golden.Measurement {
	var all []golden.Measurement
	for _, b := range f {
		if symbol.IsCompilerCache(b.Name) {
			continue
		}
		depth := maxGoldenDepth
		lines := r.linesTo(b, depth)
		for len(lines) > maxGoldenLines && depth > 0 && !r.Listed(b.Path) {
			depth--
			lines = r.linesTo(b, depth)
		}
		all = append(all, lines...)
	}
	return all
}

// linesTo returns the lines of b and of the branches at most depth edges below it, with deeper
// branches summed up.
func (r *Ruler) linesTo(b *tree.Branch, depth int) []golden.Measurement {
	var lines []golden.Measurement
	if m := r.line(b); m.Objects > 0 || m.Bytes > 0 {
		lines = append(lines, m)
	}
	below := r.linesBelow(b, depth-1)
	if b.Elems > 0 && !hasEntries(b, below) {
		below = append(below, golden.Measurement{Path: b.Path + tree.Entries, Objects: b.Elems})
	}
	if depth > 0 || len(below) == 0 {
		return append(lines, below...)
	}
	rest := golden.Measurement{Path: b.Path + ".**", Type: "*"}
	for _, m := range below {
		rest.Objects += m.Objects
		rest.Bytes += m.Bytes
		rest.BytesTolerance = max(rest.BytesTolerance, m.BytesTolerance)
	}
	return append(lines, rest)
}

func (r *Ruler) linesBelow(b *tree.Branch, depth int) []golden.Measurement {
	if tree.IsPoolShaped(b.Typ) {
		return nil
	}
	if depth < 0 {
		depth = math.MaxInt // all of it, to be summed up
	}
	var lines []golden.Measurement
	for _, c := range b.Children {
		lines = append(lines, r.linesTo(c, depth)...)
	}
	return lines
}

// hasEntries reports whether the lines below a map have one for its values.
func hasEntries(b *tree.Branch, lines []golden.Measurement) bool {
	for _, m := range lines {
		if m.Path == b.Path+tree.Entries {
			return true
		}
	}
	return false
}

// maxTableEntries is how many entries fit into one table of a map: 1,024 slots, 7/8 full
// (internal/runtime/maps table.go, go1.26). Larger maps have several tables, which are split
// depending on the hash seed of the run.
const maxTableEntries = 1024 * 7 / 8

// smallMapEntries is how many entries a map has without a table: one group, always the same size.
const smallMapEntries = 8

// line returns the line of b itself. A figure that varies between runs that retain the same objects
// is 0, which compares equal every time. If both figures are 0, there is no line.
func (r *Ruler) line(b *tree.Branch) golden.Measurement {
	m := golden.Measurement{Path: b.Path, Type: b.Typ, Objects: b.Objects, Bytes: b.Bytes}
	isMap := strings.HasPrefix(b.Typ, "map[")
	switch {
	case b.Typ == symbol.NativeBlock:
		m.BytesTolerance = tree.OneStep // C's arrays grow by doubling, too
		if b.Path == native.LostRoot {
			m.Objects = 0
		}
	case tree.IsHashShaped(b.Typ) || tree.IsPoolShaped(b.Typ):
		m.Objects, m.Bytes = 0, 0
	case sharesBlocks(b):
		// Their number is exact. The bytes that they take vary: they share no blocks with the race
		// detector, and the first reference to one may not tell its size.
		m.Bytes = 0
	case b.Typ == "string":
		m.BytesTolerance = tree.OneStep
	case tree.IsTrie(b.Typ), isMap && b.Elems > maxTableEntries:
		m.Bytes = 0
	case r.hasLibraryType(b.Typ, isUnexported):
		m.Bytes = 0
	case strings.HasPrefix(b.Typ, "[]"), b.UntypedObjects > 0, b.Typ == "":
		m.BytesTolerance = tree.OneStep
	case r.hasLibraryType(b.Typ, nil):
		m.Bytes = 0
	case isMap && b.Elems > smallMapEntries:
		m.BytesTolerance = tree.OneStep
	default:
		m.BytesTolerance = tree.Exact
	}
	return m
}

// hasLibraryType reports whether a type is, or is made of, a type of the standard library whose
// name meant accepts (nil: any). The size of such a type depends on the Go release.
func (r *Ruler) hasLibraryType(typ string, meant func(name string) bool) bool {
	for pkg, name := range naming.NamedTypes(typ) {
		if r.Modules.IsStandard(pkg) && (meant == nil || meant(name)) {
			return true
		}
	}
	return false
}

// isUnexported selects the standard library's internal types, such as the queues of an
// http.Transport.
func isUnexported(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	return !unicode.IsUpper(first)
}

// sharedBlock is the size of the blocks in which smaller values without pointers lie (go1.26 and
// go1.27 runtime/malloc.go, mallocgcTiny).
const sharedBlock = 16

// smallTypes are the predeclared types of less than a shared block and without pointers.
var smallTypes = []string{
	"bool", "uintptr",
	"int", "int8", "int16", "int32", "int64",
	"uint", "uint8", "uint16", "uint32", "uint64",
	"float32", "float64", "complex64",
}

// sharesBlocks reports whether a reference leads to values that share blocks. The type tells it of
// numbers, of strings and slices what they take on average.
func sharesBlocks(b *tree.Branch) bool {
	if elem, ok := strings.CutPrefix(b.Typ, "*"); ok {
		return slices.Contains(smallTypes, elem)
	}
	isPlain := b.Typ == "string" || slices.Contains(smallTypes, strings.TrimPrefix(b.Typ, "[]"))
	return isPlain && b.Bytes < sharedBlock*b.Objects
}
