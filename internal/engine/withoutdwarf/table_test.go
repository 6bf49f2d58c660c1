package withoutdwarf

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/withoutdwarf/layouts"
	"github.com/leakgate/leakgate/internal/require"
)

// TestTable compares the table with the debug information of programs that this toolchain builds.
// CI runs it with every supported toolchain, and for builds that compile the standard library anew.
func TestTable(t *testing.T) {
	modes := [][]string{{runtime.GOARCH}}
	if require.IsSlow() {
		modes = append(modes, []string{otherArch[runtime.GOARCH]}, []string{"amd64", "-race"}, []string{"amd64", "-buildmode=pie"}, []string{"amd64", "-gcflags=all=-N -l"})
	}
	for _, mode := range modes {
		t.Run(strings.Join(mode, " "), func(t *testing.T) {
			minor, want, err := layouts.Of(t.TempDir(), "local", mode[0], mode[1:]...)
			require.NoError(t, err)
			table := parseLayouts(tables[minor])
			require.Equal(t, parseLayouts(want), table)
			require.NotEmpty(t, table)
		})
	}
}

var otherArch = map[string]string{"amd64": "arm64", "arm64": "amd64"}

func TestTablesAreSound(t *testing.T) {
	for minor, table := range tables {
		for line := range strings.Lines(table) {
			words := strings.Fields(line)
			require.Equal(t, 1, len(words)%2, "go1.%d: %s", minor, line)
			for i := 2; i < len(words); i += 2 {
				_, err := strconv.ParseUint(words[i], 10, 31)
				require.NoError(t, err, "go1.%d: %s", minor, line)
			}
		}
	}
}

func TestSupportedMinor(t *testing.T) {
	for version, want := range map[string]int{
		"go1.26": 26, "go1.26.8": 26, "go1.27.3": 27, "go1.28": 0, "go1.2": 0, "go1.260": 0, "go1.27rc1": 0,
		"go1.26.8 X:nogreenteagc": 0, "devel go1.27-abcdef": 0, "": 0,
	} {
		got, err := supportedMinor(version)
		require.Equal(t, want, got, version)
		require.Equal(t, want == 0, err != nil, version)
	}
}
