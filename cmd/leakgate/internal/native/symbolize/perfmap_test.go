package symbolize

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParsePerfMap(t *testing.T) {
	names, broken, err := ParsePerfMap([]byte("1000 100 Builtin:Abort\n0x2000 10 JS:*leak /srv/app.js:3:14\n1040 20 JS:~again\n\n3000 10\n40"))
	require.NoError(t, err)
	require.Equal(t, 2, broken)
	for addr, want := range map[uint64]string{
		0x1000: "Builtin:Abort", 0x1040: "JS:~again", 0x1060: "Builtin:Abort", 0x10ff: "Builtin:Abort", 0x1100: "",
		0x200f: "JS:*leak /srv/app.js:3:14", 0x2010: "", 0x3000: "",
	} {
		got, _ := names.At(addr)
		require.Equal(t, want, got, "%#x", addr)
	}
}

func TestParsePerfMapErrors(t *testing.T) {
	_, broken, err := ParsePerfMap([]byte("\x7fELF\nno map\n"))
	require.ErrorContains(t, err, "line 1 is not of the form")
	require.Equal(t, 2, broken)
	_, _, err = ParsePerfMap(nil)
	require.NoError(t, err, "a program that generated nothing leaves an empty map")
}

func FuzzParsePerfMap(f *testing.F) {
	f.Add([]byte("1000 100 a\n1010 10 b c\nffffffffffffffff 2 d\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		names, _, err := ParsePerfMap(text)
		require.Equal(t, err == nil, names != nil)
		if err == nil {
			names.At(0x1000)
		}
	})
}
