package golden

import (
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

func TestUpdate(t *testing.T) {
	tests := []struct{ name, file, measured, want, changes string }{
		{
			name: "bounds that hold stay as they are",
			file: `
12 1152 a T
<=100 <=64KiB b T  # widened by hand
1 4096~10% c T
* * d T
`,
			measured: "12 1152 a T\n7 8 b T\n1 4400 c T\n5 5 d T",
			want: `
12 1152 a T
<=100 <=64KiB b T  # widened by hand
1 4096~10% c T
* * d T
`,
		},
		{
			name: "bounds that do not hold keep their form and comments",
			file: `
# about a
12 1152 a T  # exact
# about b
<=100 <=64KiB b T  # limit
1 4096~10% c T  # tolerance
<=1 * d T  # anything
`,
			measured: "13 1248 a T\n120 70000 b T\n1 5000 c T\n5 5 d T",
			want: `
# about a
13 1248 a T  # exact
# about b
<=120 <=70000 b T  # limit
1 5000~10% c T  # tolerance
<=5 * d T  # anything
`,
			changes: `widened    a T: objects 12 -> 13, bytes 1152 -> 1248
widened    b T: objects <=100 -> <=120, bytes <=64KiB -> <=70000
widened    c T: bytes 4096~10% -> 5000~10%
widened    d T: objects <=1 -> <=5`,
		},
		{
			name: "figures go down, limits stay",
			file: `
12 1152 a T
<=100 1152 b T
1 4096~10% c T
`,
			measured: "11 1056 a T\n1 96 b T\n1 2000 c T",
			want: `
11 1056 a T
<=100 96 b T
1 2000~10% c T
`,
			changes: `tightened  a T: objects 12 -> 11, bytes 1152 -> 1056
tightened  b T: bytes 1152 -> 96
tightened  c T: bytes 4096~10% -> 2000~10%`,
		},
		{
			name:     "one bound up and one down counts as widened",
			file:     "\n12 1152 a T\n",
			measured: "13 10 a T",
			want:     "\n13 10 a T\n",
			changes:  "widened    a T: objects 12 -> 13, bytes 1152 -> 10",
		},
		{
			name: "new paths are added in their place, old ones removed with their comments",
			file: `# of the file

# about b
1 8 b T  # renamed to c
# about d
1 8 d T
# end
`,
			measured: "1 8 a T\n2 16~10% c \"x # y\"\n1 8 d T",
			want: `# of the file

1 8 a T
2 16~10% c "x # y"
# about d
1 8 d T
# end
`,
			changes: `added      a T: objects 1, bytes 8
removed    b T: objects 1, bytes 8
added      c "x # y": objects 2, bytes 16~10%`,
		},
		{
			name: "section comments survive what stood below them",
			file: `
1 8 a T

# --- section b ---

# about b
1 8 b T

# --- section c ---

# about c
1 8 c T
`,
			measured: "1 8 a T\n1 8 d T",
			want: `
1 8 a T

# --- section b ---

# --- section c ---

1 8 d T
`,
			changes: `removed    b T: objects 1, bytes 8
removed    c T: objects 1, bytes 8
added      d T: objects 1, bytes 8`,
		},
		{
			name: "section comments survive at the end",
			file: `
1 8 a T

# --- section b ---

1 8 b T

# the end
`,
			measured: "1 8 a T",
			want: `
1 8 a T

# --- section b ---

# the end
`,
			changes: "removed    b T: objects 1, bytes 8",
		},
		{
			name:     "everything goes but the comment of the file",
			file:     "# of the file\n\n# about a\n1 8 a T\n# end\n",
			measured: "",
			want:     "# of the file\n\n# end\n",
			changes:  "removed    a T: objects 1, bytes 8",
		},
		{
			name: "patterns cover new paths",
			file: `
* * app.cache.** *  # evicted by size
<=3 * **.tmp *
`,
			measured: "1000 64000 app.cache T\n9 9 app.cache[*].x U\n1 8 app.cacheSize int\n2 2 a.tmp T\n2 2 b.tmp T",
			want: `
* * app.cache.** *  # evicted by size
1 8 app.cacheSize int
<=4 * **.tmp *
`,
			changes: `widened    **.tmp: objects <=3 -> <=4
added      app.cacheSize int: objects 1, bytes 8`,
		},
		{
			name: "what allows nothing is kept when it matches nothing",
			file: `
<=1 <=64 a T  # only now and then
* * b.** *
<=1 8 c T
4~100% 8 d T
1 * e T
`,
			measured: "",
			want: `
<=1 <=64 a T  # only now and then
* * b.** *
<=1 8 c T
`,
			changes: `unused     a T: matches nothing; kept, because its bound allows that
unused     b.**: matches nothing; kept, because its bound allows that
unused     c T: matches nothing; kept, because its bound allows that
removed    d T: objects 4~100%, bytes 8
removed    e T: objects 1, bytes *`,
		},
		{
			name:     "another type is another entry",
			file:     "\n1 8 a T\n",
			measured: "1 8 a U",
			want:     "\n1 8 a U\n",
			changes: `removed    a T: objects 1, bytes 8
added      a U: objects 1, bytes 8`,
		},
		{
			name:     "a new pattern takes over what a wider one covered",
			file:     "\n5 5 **.b *\n",
			measured: "1 1 aaaa.** *\n2 2 aaaa.b T\n3 3 c.b T",
			want:     "\n3 3 **.b *\n3 3 aaaa.** *\n",
			changes: `tightened  **.b: objects 5 -> 3, bytes 5 -> 3
added      aaaa.**: objects 3, bytes 3`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ms := readMeasurements(t, tt.measured)
			f := mustParse(t, v1+tt.file)
			g, changes := f.Update(ms)
			// The expected text is written loosely above, so that the tables can be read.
			if got, want := string(g.Bytes()), string(mustParse(t, v1+tt.want).Bytes()); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			var lines []string
			for _, c := range changes {
				lines = append(lines, c.String())
			}
			if got := strings.Join(lines, "\n"); got != tt.changes {
				t.Errorf("changes\n%s\nwant\n%s", got, tt.changes)
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
