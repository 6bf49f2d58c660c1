package attribute

import (
	"reflect"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// Add and Sub reach each field, whatever fields there are.
func TestFigures(t *testing.T) {
	var now, more Figures
	for i := range reflect.TypeFor[Figures]().NumField() {
		reflect.ValueOf(&now).Elem().Field(i).SetInt(int64(100 + i))
		reflect.ValueOf(&more).Elem().Field(i).SetInt(int64(1 + i))
	}
	sum, rest := now, more
	sum.Add(&more)
	for i := range reflect.TypeFor[Figures]().NumField() {
		assert.Equal(t, int64(101+2*i), reflect.ValueOf(sum).Field(i).Int())
	}
	sum.Sub(&rest)
	assert.Equal(t, now, sum)
	assert.Equal(t, Figures{}, rest, "what was subtracted is gone")

	few := Figures{Objects: 3, Ended: 1}
	few.Sub(&Figures{Objects: 5})
	assert.Equal(t, Figures{Ended: 1}, few)
	base := Figures{Objects: 5}
	few = Figures{Objects: 3}
	few.Sub(&base)
	assert.Equal(t, Figures{Objects: 2}, base)
}
