package golden

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An Entry is one line of a golden file, with its comments.
type Entry struct {
	Objects Bound
	Bytes   Bound
	Path    string // may be a pattern, see the package comment
	Type    string // "*" for every type, "" for an unknown one
	Comment string // at the end of the line, without the #; "" if none
	Above   string // the comment and blank lines above that belong to the entry, each ended by \n
	Line    int    // in the file that was parsed; for New and Update in what Bytes returns
}

// anyType is the type of an entry that covers every type.
const anyType = "*"

// unknownType is how a type that is not known is written.
const unknownType = "-"

// The columns' minimal widths are fixed, so that no change of one line re-aligns another.
const (
	objectsWidth = 9
	bytesWidth   = 12
	pathWidth    = 48
)

// columnTitles returns the comment at the top of a new file.
func columnTitles() string {
	return fmt.Sprintf("%-*s  %*s  %-*s  %s", objectsWidth, "# objects", bytesWidth, "bytes", pathWidth, "path", "type")
}

// String returns the entry's line as Bytes writes it, without a line end.
func (e Entry) String() string {
	s := fmt.Sprintf("%*s  %*s  %-*s  %s", objectsWidth, e.Objects, bytesWidth, e.Bytes.size(),
		pathWidth, quotePath(e.Path), quoteType(e.Type))
	if e.Comment != "" {
		s += "  # " + e.Comment
	}
	return s
}

// IsPattern reports whether the entry may cover more than one path and type.
func (e Entry) IsPattern() bool {
	return strings.Contains(e.Path, wildcard) || e.Type == anyType
}

func quotePath(path string) string {
	if isBare(path) && !strings.Contains(path, " ") {
		return path
	}
	return strconv.Quote(path)
}

func quoteType(typ string) string {
	switch {
	case typ == "":
		return unknownType
	case typ == unknownType, !isBare(typ), strings.Contains(typ, "  "), strings.Contains(typ, " #"):
		return strconv.Quote(typ)
	}
	return typ
}

// isBare reports whether s can stand in a file without quotes, spaces aside.
func isBare(s string) bool {
	if s == "" || s[0] == '"' || s[0] == '#' || s[0] == ' ' || s[len(s)-1] == ' ' || !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, isNotPrintable) < 0
}

func isNotPrintable(r rune) bool { return !strconv.IsPrint(r) }

// A place identifies a line: a path and the type there.
type place struct{ path, typ string }

func (e *Entry) place() place { return place{e.Path, e.Type} }

// compare orders places by path, then type.
func (p place) compare(q place) int {
	if c := comparePaths(p.path, q.path); c != 0 {
		return c
	}
	return strings.Compare(p.typ, q.typ)
}

// comparePaths orders paths so that each is followed by what lies below it: the ends of a step, "."
// and "[", come before every other byte.
func comparePaths(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return pathRank(a[i]) - pathRank(b[i])
		}
	}
	return len(a) - len(b)
}

func pathRank(c byte) int {
	switch c {
	case '.':
		return -2
	case '[':
		return -1
	}
	return int(c)
}
