package twin

import (
	"bytes"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestGCProgram(t *testing.T) {
	for _, c := range []struct{ in, want []byte }{
		{[]byte{0, 1}, []byte{0}},
		{[]byte{9, 0xff, 0x01, 0, 7}, []byte{9, 0xff, 0x01, 0}}, // nine bits
		{[]byte{0x81, 5, 0, 7}, []byte{0x81, 5, 0}},             // the last bit five times
		{[]byte{0x80, 3, 0x85, 1, 0, 7}, []byte{0x80, 3, 0x85, 1, 0}},
		{[]byte{9, 0xff}, nil},
		{[]byte{0x80, 3}, nil},
		{[]byte{1, 1}, nil},
		{nil, nil},
	} {
		assert.Equal(t, c.want, gcProgram(c.in), "%x", c.in)
	}
}

func FuzzGCProgram(f *testing.F) {
	f.Add([]byte{9, 0xff, 0x01, 0x80, 3, 0x85, 1, 0, 7})
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := gcProgram(b); !bytes.HasPrefix(b, got) {
			t.Errorf("%x is no part of it", got)
		}
	})
}
