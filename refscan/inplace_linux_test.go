//go:build (amd64 || arm64) && go1.26

package refscan_test

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/snapshot"
	"github.com/leakgate/leakgate/internal/require"
	"github.com/leakgate/leakgate/refscan"
)

// A process that is copied in place has the same objects at the same roots as a forked one.
func TestInPlace(t *testing.T) {
	fillUnnamed()
	defer func() { unnamed.holder = nil }()
	t.Setenv("LEAKGATE_FREEZE", "fork")
	forked := scan(t)
	require.Empty(t, forked.NotForked)
	t.Setenv("LEAKGATE_FREEZE", "inplace")
	copied := scan(t)
	require.Equal(t, "LEAKGATE_FREEZE says so", copied.NotForked)
	require.Positive(t, copied.Pause)
	require.Zero(t, copied.Totals.ExtraBytes)
	require.LessOrEqual(t, copied.Totals.MissedBytes, auditLimit(copied.Totals))
	want, got := make(map[string]int64), make(map[string]int64)
	countTypes(forked.Roots, want)
	countTypes(copied.Roots, got)
	compared := 0
	for typ := range want {
		if strings.Contains(typ, ".unnamed") {
			compared++
			require.Equal(t, want[typ], got[typ], typ)
		}
	}
	require.Greater(t, compared, 5)
	require.Equal(t, at(t, forked, "unnamed").Objects, at(t, copied, "unnamed").Objects)
}

// wayVariable makes TestWays run in a process of its own, which has a small heap and is at rest.
const wayVariable = "LEAKGATE_TEST_WAYS"

var waysHeap [][]*byte

// By default a small image is copied in place. A larger image, or one that is to have the memory of
// C, is made by a fork.
func TestSmallInPlace(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestWays$", "-test.v")
	cmd.Env = append(os.Environ(), "LEAKGATE_FREEZE=", wayVariable+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestWays ")
}

// TestWays is what TestSmallInPlace runs.
func TestWays(t *testing.T) {
	if os.Getenv(wayVariable) == "" {
		return
	}
	const small = "the image is small"
	notForked := func(opts ...refscan.CaptureOption) string {
		s, err := refscan.Capture(opts...)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		r, err := s.Scan()
		require.NoError(t, err)
		sound(t, r)
		return r.NotForked
	}
	requireSmall := func() {
		got := ""
		for range 50 { // on a busy machine it may not be at rest
			if got = notForked(); got != "" {
				break
			}
		}
		require.Equal(t, small, got)
	}
	requireSmall()
	require.Empty(t, notForked(snapshot.Foreign{}))
	for range 20 {
		waysHeap = append(waysHeap, make([]*byte, 1<<17)) // a megabyte
	}
	require.Empty(t, notForked())
	waysHeap = nil
	requireSmall()
	texts := make([]string, 0, 60_000)
	for i := range cap(texts) { // 29 MB without pointers, in objects small enough to be copied
		texts = append(texts, strings.Repeat("-", 450+i%30))
	}
	require.Empty(t, notForked())
	runtime.KeepAlive(texts)
}

// Constructs of all kinds are found in place, too. The test has a process of its own, since other
// tests leave payloads behind.
func TestConstructsInPlace(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.run=^TestConstructs$", "-test.v")
	cmd.Env = append(os.Environ(), "LEAKGATE_FREEZE=inplace")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestConstructs ")
}

// Work under load gives the same results in place: see TestSoak.
func TestSoakInPlace(t *testing.T) {
	require.Slow(t)
	t.Setenv("LEAKGATE_FREEZE", "inplace")
	TestSoak(t)
}

// An unknown value of the variable is an error with a remedy.
func TestUnknownWay(t *testing.T) {
	t.Setenv("LEAKGATE_FREEZE", "spoon")
	_, err := refscan.Capture()
	var unavailable *refscan.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.Equal(t, `LEAKGATE_FREEZE is "spoon"`, unavailable.Cause)
	require.Equal(t, "set it to fork or inplace, or not at all", unavailable.Remedy)
}
