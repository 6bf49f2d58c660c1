package gnunote

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func note(name string, kind uint32, data string) []byte {
	pad := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(name)+1))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, kind)
	return append(append(b, pad([]byte(name+"\x00"))...), pad([]byte(data))...)
}

func TestBuildID(t *testing.T) {
	notes := append(append(note("GNU", 1, "abcd"), note("Go", 4, "xyz")...), note("GNU", 3, "\xab\xcd\x01")...)
	require.Equal(t, "abcd01", BuildID(notes, binary.LittleEndian))
	require.Empty(t, BuildID(notes[:len(notes)-4], binary.LittleEndian), "cut off")
	require.Empty(t, BuildID(note("BSD", 3, "abcd"), binary.LittleEndian))
}

func FuzzAll(f *testing.F) {
	f.Add(note("GNU", 3, "abcdefg"))
	f.Fuzz(func(_ *testing.T, b []byte) { BuildID(b, binary.LittleEndian) })
}
