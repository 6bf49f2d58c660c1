//go:build amd64 || arm64

package proof_test

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
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
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
	reachStatic  = &heaptest.Knot{ID: 1, Other: &heaptest.Corner{Data: []byte("compiled")}} // data that the compiler made
	reachLiteral = []*heaptest.Knot{{ID: 2}, {ID: 3, List: []*heaptest.Knot{{ID: 4}}}}
	reachOther   = &reachLarge // another variable, where a scan ends
	reachPool    sync.Pool
	reachFunc    func() *heaptest.Knot
	reachText    []string
)

//go:noinline
func fillReach(rng *rand.Rand) {
	few := func(n int) int { return rng.IntN(n) * rng.IntN(2) }
	reachSmall, reachText, reachLarge = nil, nil, nil
	for i := range few(60) {
		reachSmall = append(reachSmall, new(int8))
		reachText = append(reachText, strconv.Itoa(1000+i))
		reachLarge = append(reachLarge, &heaptest.Knot{ID: i}, i+1000, "text"+strconv.Itoa(i))
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
		reachPool.Put(new(heaptest.Knot))
	}
	k := &heaptest.Knot{}
	reachFunc = func() *heaptest.Knot { return k }
	if rng.IntN(2) == 0 {
		reachStatic.A, reachLiteral[1].List[0].B = &heaptest.Knot{}, &heaptest.Knot{A: &heaptest.Knot{}}
		reachStatic.Other.Rest.M = map[int]*heaptest.Knot{1: k}
	}
}

const pkg = "github.com/leakgate/leakgate/internal/engine/capture/proof_test."

// nodes freezes the process, and returns what a scan of it charges to whom.
func nodes(t *testing.T) []*attribute.Node {
	t.Helper()
	p := heaptest.Capture(t)
	defer func() { require.NoError(t, p.Close()) }()
	return attribute.Run(p.Heap, p.Program(), attribute.Options{}).Roots
}

// charged returns what is charged to each package variable.
func charged(roots []*attribute.Node) map[string]proof.Reach {
	found := make(map[string]proof.Reach)
	var add func(sum *proof.Reach, n *attribute.Node)
	add = func(sum *proof.Reach, n *attribute.Node) {
		sum.Objects, sum.Bytes = sum.Objects+n.Objects, sum.Bytes+n.Bytes
		for _, c := range n.Children {
			add(sum, c)
		}
	}
	for _, n := range roots {
		if n.Root.Kind == root.KindGlobal && !n.Root.Class.IsTool() {
			sum := found[n.Name]
			add(&sum, n)
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
	t.Cleanup(func() { fillReach(rand.New(rand.NewPCG(0, 0))); heaptest.ClearGraph(); reachTimer.Stop() })
	for range require.Rounds(1, 12) {
		heaptest.FillGraph(rng, 1+rng.IntN(400), true)
		fillReach(rng)
		own, told := 0, 0
		for name, want := range charged(nodes(t)) {
			if strings.HasPrefix(name, "runtime.") || strings.Contains(name, "(") {
				continue // change during the test, or are no variables
			}
			got, within := reachOf(t, name, -1)
			if isOwn(name) {
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
		{pkg + "reachEmpty", 0, true},
		{heaptest.Package + "RootPointer", 1, true},
		{pkg + "reachEmpty", -1, true},
		{pkg + "noSuchVariable", 1, false},
		{pkg + "TestReachOfLittle", 1, false},
		{pkg + "glob", 1, false},
	} {
		heaptest.ClearGraph()
		heaptest.RootPointer = &heaptest.Knot{}
		if _, within := reachOf(t, tt.name, tt.most); within != tt.want {
			t.Errorf("%s within %d: %v", tt.name, tt.most, within)
		}
	}
	heaptest.RootPointer = &heaptest.Knot{A: &heaptest.Knot{}}
	_, within := reachOf(t, heaptest.Package+"RootPointer", 1)
	require.False(t, within)
	r, within := reachOf(t, heaptest.Package+"RootPointer", 2)
	require.True(t, within)
	require.Equal(t, int64(2), r.Objects)
	heaptest.RootPointer = nil
}
