package golden

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Version is the version of the format that this package reads and writes.
const Version = 1

// headerWords begin the first line of every golden file; the version's number follows.
const headerWords = "leakgate golden v"

// MaxSize is the size in bytes of the largest golden file that is read or written.
const MaxSize = 8 << 20

// A File is the content of a golden file. It never changes once made, so it may be used by several
// goroutines. The zero value is a file without entries: nothing may be retained.
type File struct {
	name          string
	headerComment string   // on the header's line, without the #
	head          []string // comment and blank lines between the header and the first entry's own
	entries       []Entry  // sorted
	tail          []string // comment and blank lines below the last entry
}

// New returns a file with one entry for each measurement: exact object counts, and bytes with the
// tolerance that the measurement asks for. The order of ms does not matter.
func New(ms []Measurement) *File {
	f := &File{head: []string{columnTitles()}}
	for _, m := range normalize(ms) {
		f.entries = append(f.entries, m.entry())
	}
	f.noteIfEmpty()
	f.arrange()
	f.number()
	return f
}

// nothingRetained is the comment line of a file without entries, so that a reader does not take the
// file for an unfinished one. The first entry replaces it.
const nothingRetained = "# nothing is retained"

func (f *File) noteIfEmpty() {
	if len(f.entries) == 0 {
		f.tail = append(f.tail, "", nothingRetained)
	}
}

func withoutNote(lines []string) []string {
	return slices.DeleteFunc(lines, func(l string) bool { return l == nothingRetained })
}

// Name returns the name that was given to Parse or Read, "" for a new file.
func (f *File) Name() string { return f.name }

// Entries returns a copy of the file's entries, sorted by path and type.
func (f *File) Entries() []Entry { return slices.Clone(f.entries) }

// Bytes returns the text of the file in its one canonical form: sorted, aligned, with LF line ends.
// Parse of the result gives the same file again.
func (f *File) Bytes() []byte {
	b := fmt.Appendf(nil, "%s%d", headerWords, Version)
	if f.headerComment != "" {
		b = append(append(b, "  # "...), f.headerComment...)
	}
	b = append(append(b, '\n'), joinLines(f.head)...)
	for _, e := range f.entries {
		b = append(append(append(b, e.Above...), e.String()...), '\n')
	}
	return append(b, joinLines(f.tail)...)
}

// sortEntries sorts by path and type, which no two entries share.
func sortEntries(entries []Entry) {
	sort.Slice(entries, func(i, j int) bool { return entries[i].place().compare(entries[j].place()) < 0 })
}

// arrange brings the file into the form that Parse would find it in: entries sorted, no two blank
// lines in a row, every comment line where it belongs.
func (f *File) arrange() {
	sortEntries(f.entries)
	if len(f.entries) == 0 {
		f.head = trimBlanks(append(f.head, f.tail...))
		f.tail = nil
		return
	}
	// Comments above the first entry that a blank line follows are the file's own.
	shared, own := splitAbove(splitLines(f.entries[0].Above))
	f.entries[0].Above = joinLines(withoutNote(own))
	f.head = collapseBlanks(withoutNote(append(f.head, shared...)))
	if n := len(f.head); n > 0 && f.head[n-1] != "" {
		f.head = append(f.head, "") // or the last comment would become the first entry's
	}
	for i := 1; i < len(f.entries); i++ {
		f.entries[i].Above = joinLines(collapseBlanks(splitLines(f.entries[i].Above)))
	}
	f.tail = trimBlanks(withoutNote(f.tail))
}

// number sets the entries' lines to where Bytes writes them.
func (f *File) number() {
	line := 1 + len(f.head)
	for i := range f.entries {
		line += strings.Count(f.entries[i].Above, "\n") + 1
		f.entries[i].Line = line
	}
}

// splitAbove divides the lines above an entry: shared ends with the last blank line, own is the
// comment that directly precedes the entry.
func splitAbove(lines []string) (shared, own []string) {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i] == "" {
			return lines[:i+1], lines[i+1:]
		}
	}
	return nil, lines
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func joinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// collapseBlanks returns the lines with every run of blank lines reduced to one.
func collapseBlanks(lines []string) []string {
	var out []string
	for i, l := range lines {
		if l != "" || i == 0 || lines[i-1] != "" {
			out = append(out, l)
		}
	}
	return out
}

// trimBlanks is collapseBlanks without blank lines at the end.
func trimBlanks(lines []string) []string {
	lines = collapseBlanks(lines)
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	return lines
}
