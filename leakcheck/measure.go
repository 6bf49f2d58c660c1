package leakcheck

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/leakgate/leakgate/golden"
)

// How much of a root a golden file spells out when the root is new to it. What lies deeper, or makes
// more lines, is summed up in lines "path.**".
const (
	maxGoldenDepth = 8  // edges below the root
	maxGoldenLines = 40 // a root
)

// A ruler makes the lines of a golden file.
type ruler struct {
	module string                 // the module under test
	listed func(root string) bool // whether the file has lines for a root already
}

// measure returns the lines that a forest makes. The roots that the file already has are spelled out
// as far as maxGoldenDepth, since the file's own patterns say what to sum up; the others also keep to
// maxGoldenLines.
func (r *ruler) measure(f forest) []golden.Measurement {
	var all []golden.Measurement
	for _, b := range f {
		if isCompilerCache(b.name) {
			continue
		}
		depth := maxGoldenDepth
		lines := r.linesTo(b, depth)
		for len(lines) > maxGoldenLines && depth > 0 && !r.listed(b.path) {
			depth--
			lines = r.linesTo(b, depth)
		}
		all = append(all, lines...)
	}
	return all
}

// linesTo returns the lines of b and of what lies at most depth edges below it, with the rest summed up.
func (r *ruler) linesTo(b *branch, depth int) []golden.Measurement {
	var lines []golden.Measurement
	if m := r.line(b); m.Objects > 0 || m.Bytes > 0 {
		lines = append(lines, m)
	}
	below := r.linesBelow(b, depth-1)
	if b.elems > 0 && !hasEntries(b, below) {
		below = append(below, golden.Measurement{Path: b.path + entries, Objects: b.elems})
	}
	if depth > 0 || len(below) == 0 {
		return append(lines, below...)
	}
	rest := golden.Measurement{Path: b.path + ".**", Type: "*"}
	for _, m := range below {
		rest.Objects += m.Objects
		rest.Bytes += m.Bytes
		rest.BytesTolerance = max(rest.BytesTolerance, m.BytesTolerance)
	}
	return append(lines, rest)
}

func (r *ruler) linesBelow(b *branch, depth int) []golden.Measurement {
	if isPoolShaped(b.typ) {
		return nil
	}
	if depth < 0 {
		depth = math.MaxInt // all of it, to be summed up
	}
	var lines []golden.Measurement
	for _, c := range b.children {
		lines = append(lines, r.linesTo(c, depth)...)
	}
	return lines
}

// entries is the name of a map's values, whose line bounds how many entries the map has.
const entries = "[*]"

// hasEntries reports whether the lines below a map have one for its values.
func hasEntries(b *branch, lines []golden.Measurement) bool {
	for _, m := range lines {
		if m.Path == b.path+entries {
			return true
		}
	}
	return false
}

// Tolerances in percent, by what a kind of memory does.
const (
	exact   = 0
	oneStep = 100 // tables and backing arrays grow by doubling: one step more or less
)

// maxTableEntries is how many entries fit into one table of a map: 1,024 slots, 7/8 full
// (internal/runtime/maps table.go, go1.26). Beyond it, tables are split where the hash seed of the run
// happens to put the entries.
const maxTableEntries = 1024 * 7 / 8

// smallMapEntries is how many entries a map has without a table: one group, always the same size.
const smallMapEntries = 8

// line returns the line of b itself. A figure that varies between runs that keep the same is left at 0,
// which compares equal every time; where both are, there is no line.
func (r *ruler) line(b *branch) golden.Measurement {
	m := golden.Measurement{Path: b.path, Type: b.typ, Objects: b.objects, Bytes: b.bytes}
	isMap := strings.HasPrefix(b.typ, "map[")
	switch {
	case isHashShaped(b.typ) || isPoolShaped(b.typ):
		m.Objects, m.Bytes = 0, 0
	case isPlain(b.typ) && b.bytes < 16*b.objects:
		// Values under 16 bytes share blocks, unless the race detector is on; they count one by one, but
		// what they cost depends.
		m.Bytes = 0
	case b.typ == "string":
		m.BytesTolerance = oneStep
	case isTrie(b.typ), isMap && b.elems > maxTableEntries:
		m.Bytes = 0
	case r.hasLibraryType(b.typ, isUnexported):
		m.Bytes = 0
	case strings.HasPrefix(b.typ, "[]"), b.untypedObjects > 0, b.typ == "":
		m.BytesTolerance = oneStep
	case r.hasLibraryType(b.typ, nil):
		m.Bytes = 0
	case isMap && b.elems > smallMapEntries:
		m.BytesTolerance = oneStep
	default:
		m.BytesTolerance = exact
	}
	return m
}

// hasLibraryType reports whether a type is one of the standard library's, or made of one, whose name is
// meant (nil: any): its size is the Go release's business. An import path without a dot in its first
// element is the library's, or the module's own.
func (r *ruler) hasLibraryType(typ string, meant func(name string) bool) bool {
	found := false
	rewriteWords(typ, func(word string) string {
		pkg := packageOf(word)
		first, _, _ := strings.Cut(pkg, "/")
		_, own := below(r.module, pkg)
		name, qualified := strings.CutPrefix(word, pkg+".")
		found = found || qualified && !own && !strings.Contains(first, ".") && (meant == nil || meant(name))
		return word
	})
	return found
}

// isUnexported is for the library's own workings, such as the queues of an http.Transport.
func isUnexported(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	return !unicode.IsUpper(first)
}

// isCompilerCache reports whether a root is a cache that the compiler makes for a type switch or assertion;
// the runtime fills one in about a thousand uses, by chance (runtime/iface.go, go1.26).
func isCompilerCache(root string) bool {
	return strings.Contains(root, "..typeAssert.") || strings.Contains(root, "..interfaceSwitch.")
}

// isTrie reports whether a node stands for a whole sync.Map, inner nodes and entries included: how many
// inner nodes there are follows the hash seed.
func isTrie(typ string) bool {
	typ = strings.TrimPrefix(typ, "*")
	return typ == "sync.Map" || strings.HasPrefix(typ, "internal/sync.HashTrieMap[")
}

// isHashShaped reports whether a type's objects are inner nodes of sync.Map's tree, whose number follows
// the hash seed (internal/sync hashtriemap.go, go1.26).
func isHashShaped(typ string) bool {
	return strings.Contains(typ, "internal/sync.indirect[") || strings.Contains(typ, "internal/sync.node[")
}

// isPoolShaped reports whether a type is a sync.Pool's, which has one part for each P and is emptied by
// the collector.
func isPoolShaped(typ string) bool {
	return strings.Contains(typ, "sync.poolLocal") || strings.Contains(typ, "sync.poolChain") || strings.Contains(typ, "sync.poolDequeue")
}

var plainTypes = []string{
	"bool", "string", "uintptr",
	"int", "int8", "int16", "int32", "int64",
	"uint", "uint8", "uint16", "uint32", "uint64",
	"float32", "float64", "complex64", "complex128",
}

// isPlain reports whether a reference of this type leads to values of a predeclared type without
// pointers.
func isPlain(typ string) bool {
	return slices.Contains(plainTypes, strings.TrimPrefix(strings.TrimPrefix(typ, "*"), "[]"))
}
