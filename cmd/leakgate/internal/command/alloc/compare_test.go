package alloc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocrun"
)

// runs makes runs that allocate the given numbers of objects of 16 bytes, by type.
func runs(of map[string][]int64) (list []*allocrun.Result) {
	for name, counts := range of {
		for i, n := range counts {
			if i == len(list) {
				list = append(list, new(allocrun.Result))
			}
			list[i].Types = append(list[i].Types, &allocrun.TypeRow{Name: name, Objects: n, Bytes: 16 * n, Records: name == "records"})
		}
	}
	return list
}

func same(n int64) []int64 { return []int64{n, n, n, n, n, n} }

// broken returns the texts of the broken rows, by name.
func broken(rows []*typeRow) map[string]string {
	found := make(map[string]string)
	for _, r := range rows {
		if r.Broken {
			found[r.Name] = r.Text
		}
	}
	return found
}

func TestTypes(t *testing.T) {
	noisy := []int64{1000, 1010, 990, 1020, 980, 1000}
	type types = map[string][]int64
	for name, c := range map[string]struct {
		old, new types
		broken   map[string]string
	}{
		"the same":             {types{"T": same(1000)}, types{"T": same(1000)}, nil},
		"within the tolerance": {types{"T": same(1000)}, types{"T": same(1050)}, nil},
		"few objects":          {types{"T": same(2), "U": same(5000)}, types{"T": same(12), "U": same(5000)}, nil},
		"more, exactly": {types{"T": same(1000), "U": same(9000)}, types{"T": same(1100), "U": same(9000)}, map[string]string{
			"T": "1,000 → 1,100 objects (+10.0 %, n=6), at most 1,050 allowed",
		}},
		"in all": {types{"T": same(1000)}, types{"T": same(2000)}, map[string]string{
			"T":      "1,000 → 2,000 objects (+100.0 %, n=6), at most 1,050 allowed",
			allTypes: "1,000 → 2,000 objects (+100.0 %, n=6), at most 1,050 allowed",
		}},
		"new": {types{"U": same(5000)}, types{"U": same(5000), "T": same(100)}, map[string]string{
			"T": "0 → 100 objects (new, n=6), at most 10 allowed",
		}},
		"instead of another":  {types{"T": same(1000)}, types{"U": same(1000)}, nil},
		"gone":                {types{"T": same(1000), "U": same(9000)}, types{"U": same(9000)}, nil},
		"noise":               {types{"T": noisy}, types{"T": {1060, 980, 1070, 1000, 1020, 1100}}, nil},
		"more than the noise": {types{"T": noisy, "U": same(90_000)}, types{"T": {1110, 1130, 1120, 1140, 1100, 1120}, "U": same(90_000)}, map[string]string{"T": "1,000 → 1,120 objects (+12.0 %, p=0.002 n=6), at most 1,071 allowed"}},
		// the sum varies with another type by more than this type grows
		"beside noise": {
			types{"T": same(100), "U": {5000, 9000, 6000, 7000, 6500, 8000}},
			types{"T": same(200), "U": {6000, 8000, 5000, 9000, 6500, 7000}},
			map[string]string{"T": "100 → 200 objects (+100.0 %, n=6), at most 110 allowed"},
		},
		"records of the runtime": {types{"T": same(1000), "records": same(10)}, types{"T": same(1000), "records": same(900)}, nil},
	} {
		found := broken(typeRows(runs(c.old), runs(c.new), 5))
		if c.broken == nil {
			c.broken = map[string]string{}
		}
		assert.Equal(t, c.broken, found, name)
	}
}

// An object of uncertain size may be one T or an array of them.
func TestUnsizedObjectsAreNoGrowth(t *testing.T) {
	olds, news := runs(map[string][]int64{"T": same(1000), "[]T": same(1000)}), runs(map[string][]int64{"T": same(800), "[]T": same(1200)})
	assert.NotEmpty(t, broken(typeRows(olds, runs(map[string][]int64{"T": same(1000), "[]T": same(1200)}), 5)))
	news[3].UnsizedObjects = 200
	assert.Empty(t, broken(typeRows(olds, news, 5)))
}

// Two revisions that allocate alike are not told apart, although no two runs are equal.
func TestNoiseIsNoGrowth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() map[string][]int64 {
		of := make(map[string][]int64)
		for i := range 40 {
			of[fmt.Sprint("T", i)] = make([]int64, 6)
			for n := range 6 {
				of[fmt.Sprint("T", i)][n] = int64(1000 * math.Exp(0.2*random.NormFloat64()))
			}
		}
		return of
	}
	alarms := 0
	for range 100 {
		if len(broken(typeRows(runs(draw()), runs(draw()), 0))) > 0 {
			alarms++
		}
	}
	assert.LessOrEqual(t, alarms, 1)
}

func TestFunctions(t *testing.T) {
	site := func(function, file string, line, objects int64) *allocrun.Site {
		return &allocrun.Site{Func: function, File: file, Line: line, Objects: objects, Bytes: 8 * objects}
	}
	before := &allocrun.Result{Sites: []*allocrun.Site{site("f", "a.go", 3, 10), site("g", "a.go", 9, 5)}}
	after := &allocrun.Result{Sites: []*allocrun.Site{site("f", "a.go", 5, 20), site("f", "a.go", 4, 10), site("h", "b.go", 1, 1)}}
	found := changedFunctions(before, after)
	assert.Len(t, found, 3)
	assert.Equal(t, "f", found[0].Name)
	assert.Equal(t, int64(20), found[0].Objects.Delta())
	assert.Equal(t, int64(160), found[0].Bytes.Delta())
	assert.Equal(t, int64(5), found[0].Line)
	assert.Equal(t, "g", found[2].Name)
	assert.Empty(t, found[2].File)
}
