//go:build amd64 || arm64

package refscan_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unique"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// Variables that hold random contents besides a random graph: kinds of memory that count as more,
// or less, than an object.
var (
	reachSmall   []*int8             // values that share blocks
	reachBytes   map[uint8]struct{}  // entries without objects of their own
	reachNumbers map[int][3]int      // the same, in many tables
	reachNested  map[string]any      // maps in maps
	reachShared  sync.Map            // a table that is no map
	reachQueue   chan map[int]string // in a buffer
	reachLarge   []any               // an object of more than 512 bytes
	reachInner   *int                // the inside of an array
	reachHandle  unique.Handle[string]
	reachTimer   *time.Timer
	reachSelf    *any
	reachEmpty   []*int8
	reachStatic  = &knot{id: 1, other: &corner{data: []byte("compiled")}} // data that the compiler made
	reachLiteral = []*knot{{id: 2}, {id: 3, list: []*knot{{id: 4}}}}
	reachOther   = &reachLarge // another variable, where a scan ends
	reachPool    sync.Pool
	reachFunc    func() *knot
	reachText    []string
)

//go:noinline
func fillReach(rng *rand.Rand) {
	few := func(n int) int { return rng.IntN(n) * rng.IntN(2) }
	reachSmall, reachText, reachLarge = nil, nil, nil
	for i := range few(60) {
		reachSmall = append(reachSmall, new(int8))
		reachText = append(reachText, strconv.Itoa(1000+i))
		reachLarge = append(reachLarge, &knot{id: i}, i+1000, "text"+strconv.Itoa(i))
	}
	reachBytes, reachNumbers, reachNested = map[uint8]struct{}{}, map[int][3]int{}, map[string]any{}
	for i := range few(200) {
		reachBytes[uint8(i)] = struct{}{}
	}
	for i := range few(3000) {
		reachNumbers[i] = [3]int{i}
	}
	for i := range few(20) {
		inner := make(map[int]string)
		for k := range i {
			inner[k] = "v" + strconv.Itoa(k)
		}
		reachNested[strconv.Itoa(i)] = inner
	}
	reachShared.Clear()
	for i := range few(300) {
		reachShared.Store(i+1000, i)
	}
	reachQueue = make(chan map[int]string, 10)
	for i := range few(10) {
		reachQueue <- map[int]string{i: "x"}
	}
	reachInner = &make([]int, 100)[rng.IntN(100)]
	reachHandle = unique.Make(strconv.Itoa(rng.Int()))
	reachTimer = time.AfterFunc(time.Hour, func() { _ = reachInner })
	reachSelf = new(any)
	*reachSelf = reachSelf
	for range few(5) {
		reachPool.Put(new(knot))
	}
	k := &knot{}
	reachFunc = func() *knot { return k }
	if rng.IntN(2) == 0 {
		reachStatic.a, reachLiteral[1].list[0].b = &knot{}, &knot{a: &knot{}}
		reachStatic.other.rest.m = map[int]*knot{1: k}
	}
}

// charged returns what a report charges to each package variable.
func charged(r *refscan.Report) map[string]proof.Reach {
	found := make(map[string]proof.Reach)
	for _, n := range r.Roots {
		if n.Root.Kind == refscan.RootGlobal {
			sum := found[n.Name]
			objects, bytes := n.Total()
			sum.Objects, sum.Bytes = sum.Objects+objects, sum.Bytes+bytes
			found[n.Name] = sum
		}
	}
	return found
}

// reachOf returns what a variable leads to; false if that is not known.
func reachOf(t *testing.T, name string, most int64) (proof.Reach, bool) {
	i := strings.LastIndexByte(name, '.')
	r := proof.Reach{Ident: name[i+1:], Is: func(n string) bool { return n == name }, Count: proof.Count{MaxObjects: most, MaxBytes: -1}}
	within, err := proof.Within(context.Background(), t.Logf, proof.Claims{Variables: []*proof.Reach{&r}})
	require.NoError(t, err)
	return r, within
}

// A scan charges no package variable of this program, the standard library's among them, with more
// than the variable leads to.
func TestReachIsAnUpperBound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Cleanup(func() { fillReach(rand.New(rand.NewPCG(0, 0))); buildRandom(rng, 1, false); reachTimer.Stop() })
	for range require.Rounds(1, 12) {
		buildRandom(rng, 1+rng.IntN(400), true)
		fillReach(rng)
		s, err := refscan.Capture()
		require.NoError(t, err)
		r, err := s.Scan()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		own, told := 0, 0
		for name, want := range charged(r) {
			if strings.HasPrefix(name, "runtime.") || strings.Contains(name, "/refscan.") || strings.Contains(name, "(") {
				continue // change during the test, or are no variables
			}
			got, within := reachOf(t, name, -1)
			if strings.HasPrefix(name, pkg) {
				own++
				if within {
					told++
				}
			}
			if within && (got.Objects < want.Objects || got.Bytes < want.Bytes) {
				t.Errorf("%s leads to %d objects, %d B; charged are %d objects, %d B", name, got.Objects, got.Bytes, want.Objects, want.Bytes)
			}
			if _, within := reachOf(t, name, want.Objects-1); within {
				t.Errorf("%s: %d objects are within %d", name, want.Objects, want.Objects-1)
			}
		}
		t.Logf("%d of %d variables of this package", told, own)
		require.Greater(t, told, own/2)
	}
	runtime.KeepAlive(reachOther)
}

// ReachWithin recognises variables that hold nothing, or a few objects.
func TestReachOfLittle(t *testing.T) {
	reachEmpty = nil
	for _, tt := range []struct {
		name string
		most int64
		want bool
	}{
		{"reachEmpty", 0, true},
		{"rPointer", 1, true},
		{"reachEmpty", -1, true},
		{"noSuchVariable", 1, false},
		{"TestReachOfLittle", 1, false},
		{"glob", 1, false},
	} {
		buildRandom(rand.New(rand.NewPCG(0, 0)), 1, false)
		rPointer = &knot{}
		if _, within := reachOf(t, pkg+tt.name, tt.most); within != tt.want {
			t.Errorf("%s within %d: %v", tt.name, tt.most, within)
		}
	}
	rPointer = &knot{a: &knot{}}
	_, within := reachOf(t, pkg+"rPointer", 1)
	require.False(t, within)
	r, within := reachOf(t, pkg+"rPointer", 2)
	require.True(t, within)
	require.Equal(t, int64(2), r.Objects)
	rPointer = nil
}

// Goroutines that keep running do not change the reach of a variable.
func TestReachBesideOthers(t *testing.T) {
	var stop sync.WaitGroup
	done := make(chan struct{})
	t.Cleanup(func() { close(done); stop.Wait(); rSlice = nil })
	rSlice = make([]*knot, 2)
	for range 2 * runtime.GOMAXPROCS(0) {
		stop.Add(1)
		go func() {
			defer stop.Done()
			for {
				select {
				case <-done:
					return
				default:
					k := &knot{list: make([]*knot, 10)} // never more than three objects a knot
					k.a = &knot{}
					reachKnots.Lock()
					rSlice[0] = k
					rSlice[1] = k
					reachKnots.Unlock()
				}
			}
		}()
	}
	told, rounds := 0, require.Rounds(20, 200)
	for range rounds {
		if r, within := reachOf(t, pkg+"rSlice", -1); within {
			told++
			require.LessOrEqual(t, r.Objects, int64(7))
		}
	}
	t.Logf("%d of %d could be told", told, rounds)
}

var reachKnots sync.Mutex
