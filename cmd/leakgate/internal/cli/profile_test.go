package cli

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func zip(t *testing.T, data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestParse(t *testing.T) {
	var plain bytes.Buffer
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "objects", Unit: "count"}}}
	require.NoError(t, p.WriteUncompressed(&plain))
	for _, data := range [][]byte{plain.Bytes(), zip(t, plain.Bytes())} {
		parsed, err := ParseProfile(data)
		require.NoError(t, err)
		assert.Equal(t, "objects", parsed.SampleType[0].Type)
	}
	_, err := ParseProfile(zip(t, zip(t, plain.Bytes())))
	require.ErrorContains(t, err, "compressed twice")
	_, err = ParseProfile([]byte{0x1f, 0x8b, 1})
	require.ErrorContains(t, err, "looks compressed by gzip, and is not")
	whole := zip(t, plain.Bytes())
	_, err = ParseProfile(whole[:len(whole)-4])
	require.ErrorContains(t, err, "damaged or cut off, or too large: reading what it unpacks to: unexpected EOF")
}

// A few kilobytes that unpack to a megabyte are refused where that is too much.
func TestUnpackIsBounded(t *testing.T) {
	bomb := zip(t, make([]byte, 1<<20))
	require.Less(t, len(bomb), 4000)
	data, err := unpack(bomb, 1<<20)
	require.NoError(t, err)
	assert.Len(t, data, 1<<20)
	_, err = unpack(bomb, 1<<20-1)
	require.ErrorContains(t, err, "has 1048576 bytes or more")
}
