package dump

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func noteBytes(name string, kind uint32, data string) []byte {
	pad := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(name)+1))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, kind)
	return append(append(b, pad([]byte(name+"\x00"))...), pad([]byte(data))...)
}

func TestBuildID(t *testing.T) {
	notes := append(append(noteBytes("GNU", 1, "abcd"), noteBytes("Go", 4, "xyz")...), noteBytes("GNU", 3, "\xab\xcd\x01")...)
	require.Equal(t, "abcd01", BuildIDOf(notes, binary.LittleEndian))
	require.Empty(t, BuildIDOf(notes[:len(notes)-4], binary.LittleEndian), "cut off")
	require.Empty(t, BuildIDOf(noteBytes("BSD", 3, "abcd"), binary.LittleEndian))
}

func FuzzNotes(f *testing.F) {
	f.Add(noteBytes("GNU", 3, "abcdefg"))
	f.Fuzz(func(_ *testing.T, b []byte) { BuildIDOf(b, binary.LittleEndian) })
}
