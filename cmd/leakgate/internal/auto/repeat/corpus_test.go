package repeat

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// decode returns the values that the go command would read.
func TestDecode(t *testing.T) {
	got, err := decode("go test fuzz v1\r\n[]byte(\"a\\x00)\")\nstring(`b(`)\nint(-5)\nint8(-8)\nint16(16)\nint32(0x20)\nint64(64)\nuint(1)\nuint8(8)\n" +
		"uint16(16)\nuint32(32)\nuint64(18446744073709551615)\nbyte('\\xff')\nrune('ä')\nrune('\\'')\nrune(65)\nbool(true)\nfloat32(1.5)\nfloat64(-Inf)\nmath.Float64frombits(0x7ff8000000000002)\n\n")
	require.NoError(t, err)
	last := got[len(got)-1].(float64)
	require.Equal(t, uint64(0x7ff8000000000002), math.Float64bits(last))
	require.Equal(t, []any{
		[]byte("a\x00)"), "b(", -5, int8(-8), int16(16), int32(32), int64(64), uint(1), uint8(8), uint16(16), uint32(32), uint64(math.MaxUint64),
		byte(255), 'ä', '\'', int32(65), true, float32(1.5), math.Inf(-1),
	}, got[:len(got)-1])

	for _, text := range []string{"", "go test fuzz v2\nint(1)", "go test fuzz v1\nint(1", "go test fuzz v1\nint('ab')", "go test fuzz v1\nint8(128)", "go test fuzz v1\nmap(1)", "go test fuzz v1\nbool(1)"} {
		_, err := decode(text)
		require.Error(t, err, "%q", text)
	}
}

// The folder need not exist; a seed of other types is an error.
func TestReadCorpus(t *testing.T) {
	dir := t.TempDir()
	types := []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int]()}
	got, err := readCorpus(filepath.Join(dir, "none"), types)
	require.NoError(t, err)
	require.Empty(t, got)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "seed"), []byte("go test fuzz v1\nstring(\"x\")\nint(3)\n"), 0o666))
	got, err = readCorpus(dir, types)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, []any{"x", 3}, got[0].Values)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "wrong"), []byte("go test fuzz v1\nstring(\"x\")\nint8(3)\n"), 0o666))
	_, err = readCorpus(dir, types)
	require.ErrorContains(t, err, "wrong: a seed has a value of type int8, and the fuzz target takes a int")
	_, err = readCorpus(dir, types[:1])
	require.ErrorContains(t, err, "a seed has 2 values")
}

// A fuzz test is called with the seeds that it adds and those below testdata. It may skip or fail,
// at each call anew.
func TestCallSeeds(t *testing.T) {
	if os.Getenv("SEEDS") == "" { // Run would write to the files that the go command's flags name
		cmd := exec.Command(os.Args[0], "-test.run=^TestCall$")
		cmd.Env = append(os.Environ(), "SEEDS=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("testdata/fuzz/FuzzX", 0o777))
	require.NoError(t, os.WriteFile("testdata/fuzz/FuzzX/seed", []byte("go test fuzz v1\nstring(\"file\")\n"), 0o666))
	var seen []string
	target := testing.InternalFuzzTarget{Name: "FuzzX", Fn: func(f *testing.F) {
		f.Add("added")
		f.Fuzz(func(_ *testing.T, s string) { seen = append(seen, f.Name()+" "+s) })
	}}
	skipped := true
	for range 3 {
		require.True(t, callSeeds(target, &skipped))
	}
	require.False(t, skipped)
	require.Len(t, seen, 6)
	require.ElementsMatch(t, []string{"FuzzX added", "FuzzX file"}, seen[:2])

	require.True(t, callSeeds(testing.InternalFuzzTarget{Name: "FuzzX", Fn: func(f *testing.F) { f.Skip() }}, &skipped))
	require.True(t, skipped)
}
