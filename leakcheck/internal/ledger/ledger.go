// Package ledger lists what this process holds outside of the Go heap: descriptors, threads, child
// processes, mappings, temporary files of the operating system, and blocks of C's malloc.
package ledger

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// A Kind is a sort of resource.
type Kind int

// The kinds. Kinds whose resources usually bring others with them come first.
const (
	Process     Kind = iota // child processes, including those that have ended and have not been waited for
	Descriptor              // open file descriptors
	Thread                  // of the operating system
	Native                  // blocks that C code has from malloc
	NativeBytes             // and their bytes
	Mapping                 // bytes of memory that is neither Go's nor the program's own files
	Stack                   // bytes of goroutine stacks
	File                    // files and folders in the folders for temporary files
	Variable                // environment variables
	kinds                   // how many there are
)

// Kinds returns all kinds.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// names has the names of a kind: in records, in a rate of one, in a rate of more, and as the unit
// of a series.
var names = [kinds][4]string{
	{"process", "child process", "child processes", "child processes"},
	{"descriptor", "fd", "fd", "descriptors"},
	{"thread", "thread", "threads", "threads"},
	{"native", "native block", "native blocks", "native blocks"},
	{"native bytes", "", "", "bytes of native blocks"},
	{"mapping", "", "", "bytes mapped"},
	{"stack", "", "", "bytes of stack"},
	{"file", "temporary file", "temporary files", "files"},
	{"variable", "environment variable", "environment variables", "variables"},
}

// String returns the name of the kind in records.
func (k Kind) String() string { return names[k][0] }

// Noun returns the noun behind a rate: "fd", "threads".
func (k Kind) Noun(one bool) string {
	if one {
		return names[k][1]
	}
	return names[k][2]
}

// Counted returns the unit of a series of the kind.
func (k Kind) Counted() string { return names[k][3] }

// InBytes reports whether the kind is measured in bytes.
func (k Kind) InBytes() bool { return k == Mapping || k == Stack || k == NativeBytes }

// OfMalloc reports whether the kind counts blocks of C's malloc, which the operating system does
// not list.
func (k Kind) OfMalloc() bool { return k == Native || k == NativeBytes }

// levels is how many names an item has.
const levels = 3

// Levels is levels, for other packages. Names go from exact to rough.
const Levels = levels

// Anonymous is the name of memory that the program mapped without a file.
const Anonymous = "anonymous memory"

// Amounts has the amount of each kind.
type Amounts [kinds]int64

// An Item is one resource, or the bytes of one kind.
type Item struct {
	Kind Kind
	// Names says what it is, from exactly to roughly: "socket to 127.0.0.1:40001", "sockets to
	// 127.0.0.1", "sockets". Nothing that matters tells items with the same exact name apart.
	Names  [levels]string
	State  string // current state, "" if there is none: "ESTABLISHED", "zombie"
	Number int    // of a descriptor, or the process id
	Size   int64  // 1, or bytes

	own bool // the runtime's or the go command's, not the program's
}

// A Ledger lists the resources that the process holds at one moment. It is read while the program
// runs: it may have or lack what comes and goes meanwhile.
type Ledger struct {
	Items []Item
	// what could not be read, and is in no ledger of this process
	Missing []Unread
}

// Unread says why the resources of a kind could not be read.
type Unread struct {
	Kind Kind
	Err  error
}

func (u Unread) Error() string {
	return cmp.Or(u.Kind.Noun(false), u.Kind.String()+"s") + ": " + u.Err.Error()
}

// Errors returns Missing as errors.
func (l *Ledger) Errors() (all []error) {
	for _, u := range l.Missing {
		all = append(all, u)
	}
	return all
}

// HasName reports whether f returns true for a name of an item.
func (l *Ledger) HasName(f func(name string) bool) bool {
	for i := range l.Items {
		if slices.ContainsFunc(l.Items[i].Names[:], f) {
			return true
		}
	}
	return false
}

// Count returns how much of a kind is the program's. It leaves out what the runtime opened for
// itself, what was open when the process started, and what the go command's flags asked for.
func (l *Ledger) Count(k Kind) int64 {
	var n int64
	for i := range l.Items {
		if it := &l.Items[i]; it.Kind == k && !it.own {
			n += it.Size
		}
	}
	return n
}

// LeaveOut takes so many bytes from the first item of a kind. The ledger may be nil.
func (l *Ledger) LeaveOut(k Kind, bytes int64) {
	if l == nil {
		return
	}
	if i := slices.IndexFunc(l.Items, func(it Item) bool { return it.Kind == k }); i >= 0 {
		l.Items[i].Size = max(0, l.Items[i].Size-bytes)
	}
}

// Drop drops some items.
func (l *Ledger) Drop(which func(*Item) bool) {
	l.Items = slices.DeleteFunc(l.Items, func(it Item) bool { return which(&it) })
}

// Program returns the items of a kind that are the program's.
func (l *Ledger) Program(k Kind) []Item {
	var found []Item
	for _, it := range l.Items {
		if it.Kind == k && !it.own {
			found = append(found, it)
		}
	}
	return found
}

// Sizes adds up the items of a kind by their name at a level, without those whose exact names are
// in explained.
func (l *Ledger) Sizes(k Kind, level int, explained map[string]bool) map[string]int64 {
	sums := make(map[string]int64)
	for i := range l.Items {
		if it := &l.Items[i]; it.Kind == k && !explained[it.Names[0]] {
			sums[it.Names[level]] += it.Size
		}
	}
	return sums
}

// Explain adds to explained the exact names of the items that have a name at a level. It returns
// the state that at least three of four of them are in, "" if there is none; items that were
// explained before do not count for the state.
func (l *Ledger) Explain(k Kind, level int, name string, explained map[string]bool) (state string) {
	states := make(map[string]int)
	for i := range l.Items {
		if it := &l.Items[i]; it.Kind == k && it.Names[level] == name && !explained[it.Names[0]] {
			states[it.State]++
		}
	}
	for i := range l.Items {
		if it := &l.Items[i]; it.Kind == k && it.Names[level] == name {
			explained[it.Names[0]] = true
		}
	}
	all := 0
	for _, n := range states {
		all += n
	}
	for s, n := range states {
		if 4*n >= 3*all {
			state = s
		}
	}
	return state
}

// A Group has the items of one name.
type Group struct {
	Name, State string // the state that all are in, else ""
	Size        int64
}

// Groups puts items of the same exact name together, the largest group first.
func Groups(items []Item) []Group {
	var found []*Group
	for i := range items {
		it := &items[i]
		j := slices.IndexFunc(found, func(g *Group) bool { return g.Name == it.Names[0] })
		if j < 0 {
			j = len(found)
			found = append(found, &Group{Name: it.Names[0], State: it.State})
		}
		if found[j].State != it.State {
			found[j].State = ""
		}
		found[j].Size += it.Size
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Size > found[j].Size })
	all := make([]Group, len(found))
	for i, g := range found {
		all[i] = *g
	}
	return all
}

// Beyond returns the groups that are larger now than the groups of the same names before, and by
// how much.
func Beyond(now, before []Group) []Group {
	var found []Group
	for _, g := range now {
		if i := slices.IndexFunc(before, func(b Group) bool { return b.Name == g.Name }); i >= 0 {
			g.Size -= before[i].Size
		}
		if g.Size > 0 {
			found = append(found, g)
		}
	}
	return found
}

// String returns the group's name, with its state.
func (g *Group) String() string {
	if g.State == "" {
		return g.Name
	}
	return g.Name + " (" + g.State + ")"
}

// Pattern replaces each run of digits in a name by "*", so that all files that os.CreateTemp makes
// of "upload-*" have one pattern.
func Pattern(name string) string {
	var b strings.Builder
	digits := false
	for _, r := range name {
		is := r >= '0' && r <= '9'
		if is && !digits {
			b.WriteByte('*')
		}
		if digits = is; !is {
			b.WriteRune(r)
		}
	}
	return b.String()
}
