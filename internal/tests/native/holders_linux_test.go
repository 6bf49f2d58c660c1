//go:build cgo && linux && (amd64 || arm64)

package native

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
)

// holdersOf finds what holds blocks, given by the complements of their addresses.
func holdersOf(t *testing.T, complements map[uint64]bool) *nativeholders.Result {
	t.Helper()
	_, err := nativeheap.Take() // finds the addresses that Find uses
	require.NoError(t, err)
	config := snapshot.Default()
	config.Foreign = true
	s, err := snapshot.Capture(config)
	require.NoError(t, err)
	defer s.Close()
	r, err := nativeholders.Find(s, func(b nativeheap.Block) bool { return complements[^b.Addr] })
	require.NoError(t, err)
	require.Equal(t, int64(len(complements)), r.All.Blocks)
	return r
}

// TestHolders compares the holders in random graphs of blocks, some of which a C variable leads to,
// with a walk through the graph itself. A block's address that is still on a stack may hide a few
// losses.
func TestHolders(t *testing.T) {
	const nodes, few = 2000, 4
	for round := range 5 {
		rng := rand.New(rand.NewPCG(uint64(round), 1))
		makeGraph(nodes)
		edges := make([][]int, nodes)
		for from := range nodes {
			for way := range ways {
				if to := rng.IntN(nodes); rng.IntN(3) == 0 {
					link(from, way, to, rng.IntN(blockSize))
					edges[from] = append(edges[from], to)
				}
			}
		}
		reached := make(map[int]bool)
		var queue []int
		for i := range maxHeads {
			to := -1
			if i <= round*3 {
				to = rng.IntN(nodes)
				queue = append(queue, to)
			}
			setHead(i, to)
		}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			if !reached[at] {
				reached[at] = true
				queue = append(queue, edges[at]...)
			}
		}
		all := make(map[uint64]bool)
		for i := range nodes {
			all[nodeAddress(i)] = true
		}
		r := holdersOf(t, all)
		var byHeads int64
		for _, h := range r.Holders {
			if h.Kind == nativeholders.Variable && h.Name == "heads" {
				byHeads += h.Blocks
			}
		}
		require.Equal(t, int64(len(reached)), byHeads, "%+v", r)
		require.Empty(t, r.Unread)
		lost := int64(nodes - len(reached))
		require.LessOrEqual(t, r.Lost.Blocks, lost)
		others := int64(nodes) - byHeads - r.Lost.Blocks
		require.LessOrEqual(t, others, lost, "%+v", r)
		t.Logf("of %d blocks %d are held, %d lost; %d of these were found", nodes, len(reached), lost, r.Lost.Blocks)
		if lost > 0 && len(r.Holders) <= 1 {
			require.GreaterOrEqual(t, r.Lost.Blocks, lost-few)
		}
		freeGraph()
	}
}

const library = `
#include <stdlib.h>
void *exported;
static void *hidden;
static __thread void *own;
void *hold(size_t n, int where) {
	void *p = calloc(1, n);
	if (where == 0) exported = p;
	if (where == 1) hidden = p;
	if (where == 2) own = p;
	return p;
}
`

// TestLibrary checks that the variables of a shared library are named, exported ones even if it is
// stripped.
func TestLibrary(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc")
	}
	for _, tt := range []struct {
		file string
		args []string
		want []nativeholders.Holder
	}{
		{"libheld.so", nil, []nativeholders.Holder{
			{Kind: nativeholders.Variable, Name: "exported", File: "libheld.so"}, {Kind: nativeholders.Variable, Name: "hidden", File: "libheld.so"}, {Kind: nativeholders.Thread},
		}},
		{"libstripped.so", []string{"-s"}, []nativeholders.Holder{
			{Kind: nativeholders.Variable, Name: "exported", File: "libstripped.so"}, {Kind: nativeholders.Variable, File: "libstripped.so"}, {Kind: nativeholders.Thread},
		}},
	} {
		dir := t.TempDir()
		source, file := filepath.Join(dir, "held.c"), filepath.Join(dir, tt.file)
		require.NoError(t, os.WriteFile(source, []byte(library), 0o600))
		out, err := exec.Command("gcc", append([]string{"-shared", "-fPIC", "-o", file, source}, tt.args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NoError(t, loadLibrary(file))
		for where, want := range tt.want {
			r := holdersOf(t, map[uint64]bool{heldBlock(5000, where): true})
			want.Sum = r.All
			require.Equal(t, []nativeholders.Holder{want}, r.Holders, "%s, place %d", tt.file, where)
		}
	}
}
