package debuginfo

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestDropsIn(t *testing.T) {
	const src = `package p

func f() {
	store := New() // store = nil
	/* store =
	nil */
	other = nil
	store.next = nil
	if store == nil {
	}
	_ = "store = nil"
	other, store = nil, other
	check()
	store = nil
	check()
}
`
	for _, tt := range []struct {
		variable string
		from, to int
		want     bool
	}{
		{"store", 4, 13, false},
		{"store", 4, 14, true},
		{"store", 4, 15, true},
		{"store", 15, 15, false},
		{"other", 4, 6, false},
		{"other", 4, 7, true},
		{"missing", 1, 99, false},
	} {
		assert.Equal(t, tt.want, dropsIn([]byte(src), tt.variable, tt.from, tt.to), "%+v", tt)
	}
	assert.False(t, Drops("/no/such/file.go", "store", 1, 99))
}
