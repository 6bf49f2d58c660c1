package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readMeasurements reads "objects bytes path type [tolerance]", one a line.
func readMeasurements(t *testing.T, text string) []Measurement {
	t.Helper()
	var ms []Measurement
	for _, e := range mustParse(t, v1+text).Entries() {
		ms = append(ms, Measurement{Path: e.Path, Type: e.Type, Objects: e.Objects.figure, Bytes: e.Bytes.figure, BytesTolerance: e.Bytes.percent})
	}
	return ms
}

// sections splits a file in the form of txtar: a line "-- name --" starts a section.
func sections(text string) map[string]string {
	parts := make(map[string]string)
	name := ""
	for line := range strings.Lines(text) {
		if title := strings.TrimSpace(line); strings.HasPrefix(title, "-- ") && strings.HasSuffix(title, " --") {
			name = strings.TrimSuffix(strings.TrimPrefix(title, "-- "), " --")
			parts[name] = ""
			continue
		}
		parts[name] += line
	}
	return parts
}

// TestUpdate updates each file of testdata/update with its measurements. The texts in them are
// written loosely, so that they can be read.
func TestUpdate(t *testing.T) {
	files, err := filepath.Glob("testdata/update/*.txtar")
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tt := sections(string(text))
			ms := readMeasurements(t, tt["measured"])
			f := mustParse(t, v1+tt["file"])
			g, changes := f.Update(ms)
			if got, want := string(g.Bytes()), string(mustParse(t, v1+tt["want"]).Bytes()); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			got := ""
			for _, c := range changes {
				got += c.String() + "\n"
			}
			if got != tt["changes"] {
				t.Errorf("changes\n%s\nwant\n%s", got, tt["changes"])
			}
			if err := checkUpdate(f, ms); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUpdateKeepsNameAndHeader(t *testing.T) {
	f, err := Parse("x/app.golden", []byte("leakgate golden v1 # load test\n"))
	if err != nil {
		t.Fatal(err)
	}
	g, _ := f.Update([]Measurement{{Path: "a", Type: "T", Objects: 1, Bytes: 8}})
	if g.Name() != "x/app.golden" || !strings.HasPrefix(string(g.Bytes()), "leakgate golden v1  # load test\n") {
		t.Errorf("%s:\n%s", g.Name(), g.Bytes())
	}
}

func TestChangeEntries(t *testing.T) {
	f := mustParse(t, v1+"\n# about b\n1 8 b T\n1 8 c T\n")
	_, changes := f.Update(readMeasurements(t, "1 8 a T\n2 8 b T"))
	if len(changes) != 3 {
		t.Fatalf("changes %v", changes)
	}
	added, widened, removed := changes[0], changes[1], changes[2]
	if added.Kind != Added || added.Before != (Entry{}) || added.After.Line != 3 {
		t.Errorf("added %+v", added)
	}
	if widened.Kind != Widened || widened.Before.Line != 4 || widened.After.Line != 5 || widened.After.Above != "# about b\n" {
		t.Errorf("widened %+v", widened)
	}
	if removed.Kind != Removed || removed.Before.Line != 5 || removed.After != (Entry{}) {
		t.Errorf("removed %+v", removed)
	}
}

// A file without entries says in words that nothing is retained, as long as it has none.
func TestNothingRetained(t *testing.T) {
	const empty = "leakgate golden v1\n# objects         bytes  path                                              type\n\n# nothing is retained\n"
	none := New(nil)
	if got := string(none.Bytes()); got != empty {
		t.Errorf("a new file is\n%s", got)
	}
	parsed, err := Parse("", none.Bytes())
	if err != nil || string(parsed.Bytes()) != empty || len(parsed.Entries()) > 0 {
		t.Errorf("read again, it is\n%s%v", parsed.Bytes(), err)
	}
	one := []Measurement{{Path: "app.a", Type: "int", Objects: 1, Bytes: 8}}
	filled, _ := parsed.Update(one)
	if got, want := string(filled.Bytes()), string(New(one).Bytes()); got != want {
		t.Errorf("with an entry, it is\n%s\nwant\n%s", got, want)
	}
	emptied, _ := filled.Update(nil)
	if got := string(emptied.Bytes()); got != empty {
		t.Errorf("emptied again, it is\n%s", got)
	}
	// An entry was written by hand below the note.
	if f, err := Parse("", []byte(empty+"1 8 app.a int\n")); err != nil || string(f.Bytes()) != string(New(one).Bytes()) {
		t.Errorf("with an entry by hand, it is\n%s%v", f.Bytes(), err)
	}
	// An older file without the note stays as it is while it holds.
	const old = "leakgate golden v1\n# objects         bytes  path                                              type\n"
	f, err := Parse("", []byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if g, changes := f.Update(nil); string(g.Bytes()) != old || len(changes) > 0 {
		t.Errorf("an update made it\n%s%v", g.Bytes(), changes)
	}
}
