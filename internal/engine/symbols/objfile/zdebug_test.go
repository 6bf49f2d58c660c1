package objfile_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A section .zdebug_* is read as the linker writes it. One that says what cannot be is an error,
// and takes no memory for it.
func TestZdebug(t *testing.T) {
	plain := bytes.Repeat([]byte("debug information "), 50)
	packed := func(size uint64) []byte {
		b := bytes.NewBuffer(binary.BigEndian.AppendUint64([]byte("ZLIB"), size))
		w := zlib.NewWriter(b)
		_, err := w.Write(plain)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	whole := packed(uint64(len(plain)))
	for name, c := range map[string]struct {
		contents []byte
		want     []byte
		err      string
	}{
		"whole":           {contents: whole, want: plain},
		"its beginning":   {contents: packed(5), want: plain[:5]},
		"more than is in": {contents: packed(uint64(len(plain)) + 1), err: "unexpected EOF"},
		"far too much":    {contents: packed(1 << 40), err: "its size is more than its contents can give"},
		"no magic":        {contents: append([]byte("ZLIP"), whole[4:]...), err: "it is not compressed as its name says"},
		"cut off":         {contents: whole[:11], err: "it is not compressed as its name says"},
		"no stream":       {contents: append(bytes.Clone(whole[:12]), "no stream"...), err: "invalid header"},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := loaded(c.contents)
			got, err := f.ReadZdebug(s)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
	f, s := loaded(whole)
	s.FileSize++
	_, err := f.ReadZdebug(s)
	require.ErrorContains(t, err, "it lies beyond the end of the file")
}
