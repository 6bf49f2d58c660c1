package dump

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const text = `MAPPED_LIBRARIES:
7ff4d5619000-7ff4d563f000 r-xp 00001000 00:00 156749                     /lib/x86_64-linux-gnu/ld-2.23.so
7ff4d5647000-7ff4d5662000 r-xp 00000000 00:00 0 
7ff4d5662000-7ff4d5736000 rwxp 00000000 00:00 0
7ff4d5736000-7ff4d5753000 r-xp 00000000 fe:01 3277415 /data/lib leaf.so (deleted)
55d0c0000000-55d0c0010000 rw-p 00002000 00:00 7 /bin/app
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
a line of a log
`

func TestParseMaps(t *testing.T) {
	maps, err := ParseMaps([]byte(text))
	require.NoError(t, err)
	require.Len(t, maps, 6)
	require.Equal(t, &Mapping{Start: 0x55d0c0000000, End: 0x55d0c0010000, Offset: 0x2000, File: "/bin/app"}, maps[0])
	require.Equal(t, &Mapping{Start: 0x7ff4d5736000, End: 0x7ff4d5753000, Executable: true, File: "/data/lib leaf.so", Deleted: true}, maps[4])
	require.Equal(t, "[vsyscall]", maps[5].File)
	require.False(t, maps[5].IsFile())

	require.Same(t, maps[3], FindMapping(maps, 0x7ff4d5735fff), "anonymous memory is no library's")
	require.Same(t, maps[4], FindMapping(maps, 0x7ff4d5736000))
	require.Nil(t, FindMapping(maps, 0x7ff4d5753000))
	require.Nil(t, FindMapping(maps, 0))
}

func TestParseMapsOfOtherForms(t *testing.T) {
	maps, err := ParseMaps([]byte("I1123 10:00:00 1 app.cc:10] 0x400000-0x480000 /bin/app (@1000) abcdef01\n"))
	require.NoError(t, err)
	require.Equal(t, []*Mapping{{Start: 0x400000, End: 0x480000, Offset: 0x1000, Executable: true, File: "/bin/app", BuildID: "abcdef01"}}, maps)
}

func TestParseMapsErrors(t *testing.T) {
	_, err := ParseMaps([]byte("nothing\n"))
	require.ErrorContains(t, err, "/proc/PID/maps")
	_, err = ParseMaps([]byte("x\n" + strings.Repeat("y", maxLine+1)))
	require.ErrorContains(t, err, "line 2")
}

func TestIsFile(t *testing.T) {
	for name, want := range map[string]bool{
		"/bin/app": true, "": false, "[heap]": false, "//anon": false, "/memfd:jit": false, "/dev/zero": false, "/anon_hugepage": false,
	} {
		require.Equal(t, want, (&Mapping{File: name}).IsFile(), name)
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add([]byte(text))
	f.Add([]byte("0x400000-0x480000 /bin/app (@1000) abcdef01"))
	f.Fuzz(func(t *testing.T, text []byte) {
		maps, err := ParseMaps(text)
		if err != nil {
			return
		}
		for i, m := range maps {
			require.Less(t, m.Start, m.End)
			require.True(t, i == 0 || maps[i-1].Start <= m.Start)
		}
	})
}
