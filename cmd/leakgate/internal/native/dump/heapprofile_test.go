package dump

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// belowLibrary has generated code right below a library. google/pprof merges these mappings.
const belowLibrary = `heap profile:      3:  3000 [     3:  3000] @ heapprofile
     1:     1000 [     1:     1000] @ 0x7ff4d5650001
     2:     2000 [     2:     2000] @ 0x7ff4d5740001 0x7ff4d5650001

MAPPED_LIBRARIES:
7ff4d5647000-7ff4d5662000 r-xp 00000000 00:00 0
7ff4d5662000-7ff4d5736000 rwxp 00000000 00:00 0
7ff4d5736000-7ff4d5753000 r-xp 00000000 00:00 3277415 /data/libleafInterface.so
`

func TestGperftools(t *testing.T) {
	f, err := ParseHeapProfile([]byte(belowLibrary))
	require.NoError(t, err)
	require.Empty(t, f.Notes)
	require.Equal(t, Gperftools, f.Format)
	require.Len(t, f.Maps, 3, "no mappings are made one")
	require.Len(t, f.Profile.Sample, 2)
	require.Equal(t, []int64{2, 2000}, f.Profile.Sample[1].Value)
	require.Len(t, f.Profile.Location, 2)
	require.EqualValues(t, 0x7ff4d5650000, f.Profile.Location[0].Address, "in the call")
	for _, l := range f.Profile.Location {
		require.Nil(t, l.Mapping)
	}
}

func TestCutOff(t *testing.T) {
	at := strings.Index(belowLibrary, "     2:")
	f, err := ParseHeapProfile([]byte(belowLibrary[:at]))
	require.NoError(t, err)
	require.Len(t, f.Notes, 2)
	require.Contains(t, f.Notes[0], "about 1 blocks, and its first line says that there are 3")
	require.Contains(t, f.Notes[1], "no MAPPED_LIBRARIES")
}

const jemallocText = `heap_v2/1
  t*: 3: 600 [4: 700]
  t0: 1: 100 [1: 100]
  t1: 2: 500 [3: 600]
@ 0x2001 0x1001
  t*: 1: 100 [2: 200]
  t0: 1: 100 [1: 100]
  t1: 0: 0 [1: 100]
@ 0x3001 0x1001
  t*: 2: 500 [2: 500]
  t1: 2: 500 [2: 500]

MAPPED_LIBRARIES:
00001000-00004000 r-xp 00000000 00:00 1    /bin/app
`

func TestJemalloc(t *testing.T) {
	f, err := ParseHeapProfile([]byte("\n" + jemallocText))
	require.NoError(t, err)
	require.Empty(t, f.Notes)
	require.Equal(t, Jemalloc, f.Format)
	require.Len(t, f.Maps, 1)
	require.Len(t, f.Profile.Sample, 2)
	require.Equal(t, []int64{2, 200, 1, 100}, f.Profile.Sample[0].Value)
	require.Equal(t, []int64{2, 500, 2, 500}, f.Profile.Sample[1].Value)
	require.Equal(t, []int64{250}, f.Profile.Sample[1].NumLabel["bytes"])
	require.Len(t, f.Profile.Location, 3)
	require.EqualValues(t, 0x1000, f.Profile.Sample[1].Location[1].Address)

	f, err = ParseHeapProfile([]byte(strings.ReplaceAll(jemallocText, "[4: 700]", "[0: 0]")))
	require.NoError(t, err)
	require.Len(t, f.Profile.SampleType, 2, "what was ever allocated was not counted")
	require.Equal(t, []int64{2, 500}, f.Profile.Sample[1].Value)
}

// TestSampled compares the estimate with jeprof's formula, AdjustSamples for heap_v2: 3 blocks of
// 100 bytes at one sample in 1000 bytes stand for 3 / (1 - exp(-0.1)).
func TestSampled(t *testing.T) {
	objects, space := unsampled(3, 300, 1000)
	require.EqualValues(t, 32, objects)
	require.EqualValues(t, 3152, space)
	f, err := ParseHeapProfile([]byte(strings.Replace(jemallocText, "heap_v2/1\n", "heap_v2/1000\n", 1)))
	require.NoError(t, err)
	require.EqualValues(t, 1000, f.Profile.Period)
	require.EqualValues(t, 1051, f.Profile.Sample[0].Value[3])
}

func TestPprof(t *testing.T) {
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x2000, File: "/bin/app", BuildID: "ABCD"}
	l := &profile.Location{ID: 1, Mapping: m, Address: 0x1234}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}, Mapping: []*profile.Mapping{m}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1}}},
	}
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	f, err := ParseHeapProfile(b.Bytes())
	require.NoError(t, err)
	require.Equal(t, Pprof, f.Format)
	require.Len(t, f.Maps, 1)
	require.Equal(t, "abcd", f.Maps[0].BuildID)
	require.Same(t, f.Profile.Mapping[0], f.Profile.Location[0].Mapping)

	_, err = ParseHeapProfile(b.Bytes()[:b.Len()-9])
	require.ErrorContains(t, err, "damaged or cut off")
}

func TestErrors(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte("no profile"))
	require.NoError(t, z.Close())
	for text, want := range map[string]string{
		"":                      "it is empty",
		" \n":                   "it is empty",
		"\x1f\x8b":              "compressed by gzip",
		packed.String():         "neither a text of gperftools",
		"hello":                 "neither a text of gperftools",
		"--- symbol\n":          "it has names already",
		"heap profile: nothing": "its samples cannot be read",
		"heap profile: 1: 2 [ 1: 2] @ heapprofile\nx\n": "its samples cannot be read",
		"heap_v2/x\n":                        "line 1:",
		"heap_v2/0\n":                        "line 1:",
		"heap_v2/1\n@ 0x1 zz\n":              `line 2: "zz" is no address`,
		"heap_v2/1\nt*: 1: 1 [0: 0]\nwhat\n": `line 3: "what" is neither`,
		"heap_v2/1\nt*: 99999999999999999999: 1 [0: 0]\n": "line 2:",
	} {
		_, err := ParseHeapProfile([]byte(text))
		require.ErrorContains(t, err, want, "%q", text)
	}
}

func FuzzParseHeapProfile(f *testing.F) {
	f.Add([]byte(belowLibrary))
	f.Add([]byte(jemallocText))
	f.Add([]byte(named().String()))
	f.Add([]byte("main;0x1234;leaf 3\n# a comment\nmain 4\n"))
	f.Add([]byte("heap profile: 1: 2 [ 1: 2] @ heap_v2/524288\n 1: 2 [1: 2] @ 0x1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ParseHeapProfile(data)
		if err != nil {
			return
		}
		require.NoError(t, file.Profile.CheckValid())
		if file.Format == Pprof {
			require.Len(t, file.Maps, len(file.Profile.Mapping))
		}
	})
}
