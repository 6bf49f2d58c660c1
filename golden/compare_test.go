package golden

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// comparisons change the measurements of TestCompare, which fit its file.
var comparisons = []struct {
	name   string
	change func(ms []Measurement) []Measurement
	want   string // one difference a line: kind, ! if a failure, text
}{
	{"fits", func(ms []Measurement) []Measurement { return ms }, ""},
	{
		"over objects and bytes",
		func(ms []Measurement) []Measurement { ms[0].Objects, ms[0].Bytes = 112, 10752; return ms },
		"over! app.sessions[*] *app.Session: 112 objects, golden 12 (+100); 10752 bytes, golden 1152 (+9600)",
	},
	{
		"over a limit",
		func(ms []Measurement) []Measurement { ms[1].Objects++; ms[1].Bytes--; return ms },
		"over! app.pool []uint8: 101 objects, golden <=100 (+1)",
	},
	{
		"over a tolerance",
		func(ms []Measurement) []Measurement { ms[2].Bytes++; return ms },
		"over! app.index map[string]int: 4506 bytes, golden 4096~10% (+1)",
	},
	{
		"over objects, under bytes",
		func(ms []Measurement) []Measurement { ms[0].Objects, ms[0].Bytes = 13, 1; return ms },
		"over! app.sessions[*] *app.Session: 13 objects, golden 12 (+1)",
	},
	{
		"under",
		func(ms []Measurement) []Measurement { ms[0].Objects, ms[0].Bytes = 11, 1152; return ms },
		"under app.sessions[*] *app.Session: only 11 objects, golden 12",
	},
	{
		"under a tolerance",
		func(ms []Measurement) []Measurement { ms[2].Bytes = 3686; return ms },
		"under app.index map[string]int: only 3686 bytes, golden 4096~10%",
	},
	{
		"at the lower end of a tolerance",
		func(ms []Measurement) []Measurement { ms[2].Bytes = 3687; return ms },
		"",
	},
	{
		"under a limit",
		func(ms []Measurement) []Measurement { ms[1].Objects, ms[1].Bytes = 1, 1; return ms },
		"",
	},
	{
		"the sum of what an entry covers",
		func(ms []Measurement) []Measurement { ms[4].Objects = 2; return ms },
		"over! app.any: 4 objects, golden <=3 (+1)",
	},
	{
		"unlisted",
		func(ms []Measurement) []Measurement {
			return append(ms, Measurement{Path: "app.sessions[*]", Type: "*app.User", Objects: 2, Bytes: 96})
		},
		"unlisted! app.sessions[*] *app.User: 2 objects, 96 bytes, not in the golden file",
	},
	{
		"objects without bytes of their own are unlisted too",
		func(ms []Measurement) []Measurement { return append(ms, Measurement{Path: "app.m[*]", Objects: 2}) },
		"unlisted! app.m[*]: 2 objects, 0 bytes, not in the golden file",
	},
	{
		"bytes without a count are unlisted too",
		func(ms []Measurement) []Measurement { return append(ms, Measurement{Path: "app.m[*]", Bytes: 1}) },
		"unlisted! app.m[*]: 0 objects, 1 byte, not in the golden file",
	},
	{
		"neither objects nor bytes is nothing",
		func(ms []Measurement) []Measurement { return append(ms, Measurement{Path: "app.m[*]"}) },
		"",
	},
	{
		"gone",
		func(ms []Measurement) []Measurement { return ms[1:] },
		"gone app.sessions[*] *app.Session: in the golden file, but nothing is retained there now",
	},
	{
		"what allows nothing is not gone",
		func(ms []Measurement) []Measurement { return append(ms[:1], ms[2]) },
		"",
	},
	{
		"failures come first",
		func(ms []Measurement) []Measurement {
			ms[0].Objects = 13
			return append(ms[:2], Measurement{Path: "zzz", Objects: 1})
		},
		`over! app.sessions[*] *app.Session: 13 objects, golden 12 (+1)
unlisted! zzz: 1 object, 0 bytes, not in the golden file
gone app.index map[string]int: in the golden file, but nothing is retained there now`,
	},
	{
		"equal paths are added up, without overflow",
		func(ms []Measurement) []Measurement {
			return append(ms, Measurement{Path: "zzz", Objects: 1, Bytes: math.MaxInt64}, Measurement{Path: "zzz", Objects: 1, Bytes: 1})
		},
		"unlisted! zzz: 2 objects, 9223372036854775807 bytes, not in the golden file",
	},
}

func TestCompare(t *testing.T) {
	f := mustParse(t, v1+`
12 1152 app.sessions[*] *app.Session
<=100 <=64KiB app.pool []uint8
1 4096~10% app.index map[string]int
* * app.cache.** *
<=3 * app.any *
`)
	fits := []Measurement{
		{Path: "app.sessions[*]", Type: "*app.Session", Objects: 12, Bytes: 1152},
		{Path: "app.pool", Type: "[]uint8", Objects: 100, Bytes: 65536},
		{Path: "app.index", Type: "map[string]int", Objects: 1, Bytes: 4505},
		{Path: "app.cache.lru", Type: "*list.List", Objects: 1e6, Bytes: 1e9},
		{Path: "app.any", Type: "T", Objects: 1, Bytes: 1},
		{Path: "app.any", Type: "U", Objects: 2, Bytes: 1},
	}
	for _, tt := range comparisons {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range f.Compare(tt.change(append([]Measurement{}, fits...))) {
				mark := ""
				if d.Failure() {
					mark = "!"
				}
				got = append(got, fmt.Sprintf("%s%s %s", d.Kind, mark, d))
			}
			if got := strings.Join(got, "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestCompareFields(t *testing.T) {
	f := mustParse(t, v1+"# pool\n<=2 10 a.** * # c\n")
	ds := f.Compare([]Measurement{{Path: "a.y", Objects: 4, Bytes: 7}, {Path: "a.x", Objects: 1, Bytes: 8}, {Path: "b", Objects: 3, Bytes: 9, BytesTolerance: 5}})
	if len(ds) != 2 {
		t.Fatalf("%d differences: %v", len(ds), ds)
	}
	over, unlisted := ds[0], ds[1]
	if over.Objects != 5 || over.Bytes != 15 || over.ObjectsOver != 3 || over.BytesOver != 5 || len(over.Covered) != 2 || over.Covered[0].Path != "a.x" {
		t.Errorf("over: %+v", over)
	}
	if over.Entry.Line != 3 || over.Entry.Comment != "c" || over.Entry.Above != "# pool\n" || !over.Entry.IsPattern() {
		t.Errorf("over: entry %+v", over.Entry)
	}
	if unlisted.Objects != 3 || unlisted.ObjectsOver != 3 || unlisted.BytesOver != 9 || unlisted.Entry.Bytes != Within(9, 5) || unlisted.Entry.IsPattern() {
		t.Errorf("unlisted: %+v", unlisted)
	}
}

// The zero File allows nothing.
func TestZeroFile(t *testing.T) {
	var f File
	if got := string(f.Bytes()); got != v1 {
		t.Errorf("text %q", got)
	}
	ms := []Measurement{{Path: "a", Objects: 1, Bytes: 8}}
	if ds := f.Compare(ms); len(ds) != 1 || ds[0].Kind != Unlisted {
		t.Errorf("differences %v", ds)
	}
	if err := checkUpdate(&f, ms); err != nil {
		t.Error(err)
	}
}
