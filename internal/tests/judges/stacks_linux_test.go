//go:build amd64 || arm64

package judges_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	kit "github.com/leakgate/leakgate/internal/testkit/require"
)

// TestStacks asks a server where the memory of its stacks is, beside the profile of goroutines of
// the same server, which knows how many there are of each. The tests of package stackprof know what
// each frame takes.
func TestStacks(t *testing.T) {
	kit.Slow(t)
	address := start(t, "stacks").line(t)
	ours, theirs := fetch(t, address+"/debug/pprof/stackmem"), fetch(t, address+"/debug/pprof/goroutine")
	for name, want := range map[string]struct{ goroutines, least int64 }{
		"main.oneThousand":   {1, 1000},
		"main.twoThousand":   {1, 2000},
		"main.threeThousand": {2, 2 * 3000},
		"main.calledDeep":    {50, 0},
	} {
		require.Equal(t, want.goroutines, below(t, ours, name, "goroutines"), name)
		require.Equal(t, want.goroutines, below(t, theirs, name, "goroutine"), name)
		require.GreaterOrEqual(t, below(t, ours, name, "stack_inuse"), want.least, name)
	}
	// A goroutine that once called deep keeps the stack that it took: 100 frames of 512 bytes.
	grown := below(t, ours, "main.calledDeep", "stack_total")
	require.GreaterOrEqual(t, grown, int64(50*100*512))
	require.Less(t, below(t, ours, "main.calledDeep", "stack_inuse"), int64(50*2048))
	compared(t, "stacks of 50 goroutines that once called deep", fmt.Sprintf("50 goroutines, %d KiB", grown>>10),
		fmt.Sprintf("%d goroutines (runtime/pprof)", below(t, theirs, "main.calledDeep", "goroutine")))
}

// fetch reads a profile that a server has.
func fetch(t *testing.T, url string) *profile.Profile {
	t.Helper()
	r, err := http.Get(url)
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.StatusCode, "%s", body)
	p, err := profile.ParseData(body)
	require.NoError(t, err)
	return p
}

// below sums the samples whose stack begins with a function.
func below(t *testing.T, p *profile.Profile, name, value string) (sum int64) {
	t.Helper()
	for _, s := range p.Sample {
		if path := names(s); len(path) > 0 && path[len(path)-1] == name {
			sum += s.Value[valueIndex(t, p, value)]
		}
	}
	return sum
}
