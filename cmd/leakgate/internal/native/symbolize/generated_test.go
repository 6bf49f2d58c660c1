package symbolize

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// memory is the memory of a process, from an address on.
type memory struct {
	at uint64
	b  []byte
}

func (m *memory) read(addr, n uint64) ([]byte, error) {
	if addr < m.at || addr-m.at > uint64(len(m.b)) || n > uint64(len(m.b))-(addr-m.at) {
		return nil, errors.New("not mapped")
	}
	return m.b[addr-m.at:][:n], nil
}

func words(values ...uint64) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func TestRegistered(t *testing.T) {
	const at = 0x1000
	list := func(version, second uint64) *memory {
		return &memory{at, append(words(
			version, 0, at+24, // the descriptor
			at+56, 0, at+88, 3, // the first entry
			second, at+24, at+91, 4,
		), "oneffff"...)}
	}
	m := list(1, 0)
	objects, err := registeredObjects(m.read, binary.LittleEndian, at)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("one"), []byte("ffff")}, objects)

	for name, m := range map[string]*memory{
		"damaged: it has no end":                   list(1, at+24),
		"entry 3 of the list":                      list(1, 1),
		"the list of generated code has version 2": list(2, 0),
		"the list of generated code: not mapped":   {at, nil},
	} {
		_, err := registeredObjects(m.read, binary.LittleEndian, at)
		require.ErrorContains(t, err, name)
	}
	objects, err = registeredObjects(list(0, 0).read, binary.LittleEndian, at)
	require.NoError(t, err)
	require.Empty(t, objects, "not begun")
}

func TestGeneratedNotes(t *testing.T) {
	c := newGenerated([][]byte{[]byte("no object")}, []string{"object 1"})
	require.Zero(t, c.Objects)
	require.Len(t, c.Notes, 1)
	require.Contains(t, c.Notes[0], "object 1: it is no ELF object")
	require.Empty(t, c.Frames(1))
}

func FuzzNewGenerated(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(_ *testing.T, image []byte) {
		newGenerated([][]byte{image}, []string{"object"}).Frames(0x401000)
	})
}
