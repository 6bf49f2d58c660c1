package golden

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// measurementsOf returns measurements that fit a file: each entry's own path, with its figure.
func measurementsOf(f *File) []Measurement {
	var ms []Measurement
	for _, e := range f.entries {
		ms = append(ms, Measurement{
			Path: e.Path, Type: e.Type,
			Objects: e.Objects.figure, Bytes: e.Bytes.figure, BytesTolerance: e.Bytes.percent,
		})
	}
	return ms
}

// A generator writes random files by the rules of the grammar in doc.go, and random measurements
// that share paths with them.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func (g generator) space() string { return pick(g, " ", "\t", "  ", "\t \t") }

func (g generator) path() string {
	var b strings.Builder
	b.WriteString(pick(g, "example.com/app", "example.com/app.x", "app"))
	for range g.IntN(4) {
		b.WriteString(pick(g, ".a", ".b", "[*]", "[$key]", ".(*T).m", ".c d", ".ü", ".\t", ".#", ".**", "**", "."))
	}
	return b.String()
}

func (g generator) typ() string {
	return pick(g, "", "*", "-", "int", "*T", "map[string]int", "func(int) error", "struct { A int \"a # b\" }",
		"struct {  }", "#", " x", "x ", `"q"`, "\xff", "a\u00a0b")
}

func (g generator) figure() string {
	return pick(g, "0", "1", "12", "0100", "4096", "9223372036854775807")
}

func (g generator) bound(units bool) string {
	n := g.figure()
	if units && len(n) < 6 {
		n += pick(g, "", "KiB", "MiB", "GiB", "TiB")
	}
	return pick(g, n, "<="+n, n+pick(g, "~0%", "~10%", "~999%"), "*")
}

func (g generator) comment() string {
	return pick(g, "#", "# a", "#b #c", "# ünï", "#\t.", "# 1 2 p T")
}

func (g generator) file() string {
	type key struct{ path, typ string }
	seen := make(map[key]bool)
	lines := []string{"leakgate" + g.space() + "golden" + g.space() + "v1"}
	for range g.IntN(30) {
		k := key{g.path(), g.typ()}
		switch g.IntN(4) {
		case 0:
			lines = append(lines, pick(g, "", g.space()))
			continue
		case 1:
			lines = append(lines, pick(g, "", g.space())+g.comment())
			continue
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		line := g.bound(false) + g.space() + g.bound(true) + g.space() + quotePath(k.path) + g.space() + quoteType(k.typ)
		lines = append(lines, pick(g, "", g.space())+line+pick(g, "", g.space(), g.space()+g.comment()))
	}
	return strings.Join(lines, pick(g, "\n", "\r\n")) + pick(g, "", "\n", "\r\n")
}

func (g generator) measurements() []Measurement {
	ms := make([]Measurement, g.IntN(20))
	for i := range ms {
		ms[i] = Measurement{
			Path: g.path(), Type: g.typ(),
			Objects:        pick[int64](g, -1, 0, 1, 2, 12, 100, 4096, 1<<62, 1<<63-1),
			Bytes:          pick[int64](g, -1, 0, 1, 2, 12, 100, 4096, 1<<62, 1<<63-1),
			BytesTolerance: pick(g, -1, 0, 1, 10, 999, 5000),
		}
	}
	return ms
}

// checkFile checks what holds for every file that parses.
func checkFile(f *File) error {
	text := f.Bytes()
	if len(text) > MaxSize {
		return nil // Write refuses it
	}
	g, err := Parse(f.name, text)
	if err != nil {
		return fmt.Errorf("what was written does not parse: %w\n%s", err, text)
	}
	if again := g.Bytes(); string(again) != string(text) {
		return fmt.Errorf("written again, the text differs:\n%s", Diff(string(text), string(again)))
	}
	placed := &File{head: f.head, entries: f.Entries()}
	placed.number()
	if g.headerComment != f.headerComment || !slices.Equal(g.head, f.head) ||
		!slices.Equal(g.entries, placed.entries) || !slices.Equal(g.tail, f.tail) {
		return fmt.Errorf("written and read again, the file differs:\n got %+v\nwant %+v", g, f)
	}
	return nil
}

// checkUpdate checks what holds for every file and measurements.
func checkUpdate(f *File, ms []Measurement) error {
	before := string(f.Bytes())
	g, changes := f.Update(ms)
	if string(f.Bytes()) != before {
		return fmt.Errorf("the update changed its receiver:\n%s", Diff(before, string(f.Bytes())))
	}
	if err := checkFile(g); err != nil {
		return fmt.Errorf("after the update: %w", err)
	}
	for _, d := range g.Compare(ms) {
		return fmt.Errorf("after the update: %s %s\n%s", d.Kind, d, g.Bytes())
	}
	again, more := g.Update(ms)
	if string(again.Bytes()) != string(g.Bytes()) {
		return fmt.Errorf("a second update changes\n%s", Diff(string(g.Bytes()), string(again.Bytes())))
	}
	for _, c := range more {
		if c.Kind != Unused {
			return fmt.Errorf("a second update reports: %s", c)
		}
	}

	// Every difference that is reported is updated, and nothing else.
	type key struct{ path, typ string }
	want := make(map[key]ChangeKind)
	for _, d := range f.Compare(ms) {
		want[key{d.Entry.Path, d.Entry.Type}] = map[DifferenceKind]ChangeKind{Over: Widened, Unlisted: Added, Under: Tightened, Gone: Removed}[d.Kind]
	}
	patternAdded := false
	got := make(map[key]ChangeKind)
	for _, c := range changes {
		if c.String() == "" {
			return fmt.Errorf("empty change %+v", c)
		}
		if c.Kind == Unused {
			continue // changes nothing
		}
		got[key{c.entry().Path, c.entry().Type}] = c.Kind
		patternAdded = patternAdded || c.Kind == Added && c.After.IsPattern()
	}
	if !patternAdded && !maps.Equal(got, want) {
		return fmt.Errorf("the comparison asks for %v, the update did %v\n%s", want, got, f.Bytes())
	}
	return nil
}

func TestProperties(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	entries := 0
	files := require.Rounds(200, 3000)
	for i := range files {
		text := g.file()
		f, err := Parse("random", []byte(text))
		if err != nil {
			t.Fatalf("file %d: %v\n%s", i, err, text)
		}
		if err := checkFile(f); err != nil {
			t.Fatalf("file %d: %v\n%q", i, err, text)
		}
		ms := g.measurements()
		if err := checkUpdate(f, ms); err != nil {
			t.Fatalf("file %d: %v\n%s\n%+v", i, err, text, ms)
		}
		fresh := New(ms)
		if err := checkUpdate(fresh, ms); err != nil {
			t.Fatalf("new file %d: %v\n%+v", i, err, ms)
		}
		g.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
		if a, b := string(fresh.Bytes()), string(New(ms).Bytes()); a != b {
			t.Fatalf("new file %d depends on the order:\n%s", i, Diff(a, b))
		}
		a, _ := f.Update(ms)
		g.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
		b, _ := f.Update(ms)
		if a, b := string(a.Bytes()), string(b.Bytes()); a != b {
			t.Fatalf("update %d depends on the order:\n%s", i, Diff(a, b))
		}
		entries += len(f.entries)
	}
	if entries < 3*files {
		t.Errorf("the generator made only %d entries", entries)
	}
}
