package refscan_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/pproftest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

type crate struct {
	next  *crate
	bytes []byte
}

var crates, otherCrates *crate

//go:noinline
func packCrate(next *crate) *crate { return &crate{next: next, bytes: make([]byte, 300)} }

//go:noinline
func packInTurn(next *crate) *crate { return packCrate(next) }

func TestAllocationSites(t *testing.T) {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	for i := range 30 {
		if i%3 == 0 {
			crates = packInTurn(crates)
		} else {
			crates = packCrate(crates)
		}
	}
	runtime.MemProfileRate = 0
	for range 5 {
		otherCrates = packCrate(otherCrates)
	}
	runtime.MemProfileRate = rate
	defer func() { crates, otherCrates = nil, nil }()

	s, err := refscan.Capture()
	require.NoError(t, err)
	defer s.Close()
	r, err := s.Scan(refscan.WithAllocationSites())
	require.NoError(t, err)
	sound(t, r)

	node := func(name string) *refscan.Node {
		for _, n := range r.Roots {
			if n.Name == pkg+name {
				return n
			}
		}
		t.Fatalf("no root %s", name)
		return nil
	}
	list := node("crates")
	require.EqualValues(t, 30, list.Objects)
	require.Len(t, list.Allocations, 2, "one for each way to packCrate")
	for i, want := range []struct {
		objects int64
		funcs   []string
	}{
		{20, []string{"packCrate", "TestAllocationSites"}},
		{10, []string{"packCrate", "packInTurn", "TestAllocationSites"}},
	} {
		a := list.Allocations[i]
		assert.Equal(t, want.objects, a.Objects)
		assert.Equal(t, want.objects*list.Bytes/30, a.Bytes)
		var funcs []string
		for _, f := range a.Stack {
			funcs = append(funcs, strings.TrimPrefix(f.Func, pkg))
			assert.True(t, strings.HasSuffix(f.File, "allocations_test.go"), f.File)
			assert.Positive(t, f.Line)
		}
		assert.Equal(t, want.funcs, funcs)
	}
	require.Len(t, list.Children, 1)
	assert.Len(t, list.Children[0].Allocations, 2)
	p := parsed(t, r.WriteAllocationProfile)
	sum := map[string]int64{}
	for _, smp := range p.Sample {
		if path := smp.Label["retained"]; len(path) == 1 && strings.Contains(path[0], "rates") {
			where := strings.TrimPrefix(smp.Location[0].Line[0].Function.Name, pkg)
			if strings.Contains(path[0], "other") && where == "packCrate" {
				// the profiler may record one more allocation before it sees the new rate
				where = "(allocation not recorded)"
			}
			sum[strings.TrimPrefix(path[0], pkg)+" "+where] += smp.Value[0]
		}
	}
	assert.Equal(t, map[string]int64{
		"crates packCrate": 30, "crates.bytes packCrate": 30,
		"otherCrates (allocation not recorded)": 5, "otherCrates.bytes (allocation not recorded)": 5,
	}, sum)

	labels := map[string]int64{}
	for _, smp := range parsed(t, r.WriteProfile).Sample {
		root := smp.Location[len(smp.Location)-1].Line[0].Function.Name
		if root == pkg+"crates" {
			labels[strings.ReplaceAll(smp.Label["allocated"][0], pkg, "")] += smp.Value[0]
		}
	}
	assert.Equal(t, map[string]int64{
		"packCrate < TestAllocationSites": 40, "packCrate < packInTurn < TestAllocationSites": 20,
	}, labels)

	retention, err := s.Paths(addressOf(crates), refscan.PathQuery{})
	require.NoError(t, err)
	require.NotEmpty(t, retention.AllocatedAt)
	assert.Equal(t, pkg+"packCrate", retention.AllocatedAt[0].Func)
}

func parsed(t *testing.T, write func(io.Writer) error) *pproftest.Profile {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	p, err := pproftest.Parse(&b)
	require.NoError(t, err)
	return p
}

var labels []*[3]byte

//go:noinline
func dropLabel() *[3]byte { return new([3]byte) }

//go:noinline
func keepLabel() *[3]byte { return new([3]byte) }

// Values that share a block of 16 bytes are one allocation to the profiler, at the site of the
// first value. The sites of the other values are not known, and are not reported as that of the
// first.
func TestAllocationSitesOfSharedBlocks(t *testing.T) {
	defer func(rate int) { runtime.MemProfileRate, labels = rate, nil }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	for range 300 {
		runtime.KeepAlive(dropLabel())
		labels = append(labels, keepLabel())
	}
	s, err := refscan.Capture()
	require.NoError(t, err)
	defer s.Close()
	r, err := s.Scan(refscan.WithAllocationSites())
	require.NoError(t, err)
	for _, n := range r.Roots {
		if n.Name == pkg+"labels" {
			for _, c := range n.Children {
				for _, a := range c.Allocations {
					assert.True(t, strings.HasSuffix(a.Stack[0].Func, "keepLabel"), a.Stack[0].Func)
				}
			}
			return
		}
	}
	t.Fatal("no root labels")
}
