package rtlayout

import (
	"cmp"
	"context"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// ownIndex returns the debug information of this test.
func ownIndex(t *testing.T) *debuginfo.Index {
	t.Helper()
	x, err := debuginfo.Open(context.Background(), debuginfo.Options{Logf: t.Logf})
	require.NoError(t, err)
	return x
}

// TestFieldsAreThere names each field, structure and variable of the runtime that this Go version
// does not have, and each number that has another size.
func TestFieldsAreThere(t *testing.T) {
	x := ownIndex(t)
	for _, s := range []any{
		Heap{},
		Arena{},
		Span{},
		Goroutine{},
		Coroutine{},
		Thread{},
		Sudog{},
		Deferred{},
		Special{},
		Finalizers{},
		Cleanups{},
		Bucket{},
		Record{},
		Counters{},
		Mapped{},
		Tables{},
		Stacks{},
		Processor{},
		Timer{},
		Channel{},
		Map{},
		MapTable{},
		Descriptor{},
		Module{},
		Variables{},
	} {
		typ := reflect.TypeOf(s)
		var in place
		for i := range typ.NumField() {
			if tag := typ.Field(i).Tag; !in.begins(tag) {
				l := In(x, 0)
				name, size, _ := strings.Cut(tag.Get("is"), ",")
				l.find(in, name)
				if assert.NoError(t, l.Err(), "%s.%s", typ.Name(), typ.Field(i).Name) {
					assert.Equal(t, cmp.Or(size, "8"), numberSize(l, in, name), "bytes of %s.%s", typ.Name(), typ.Field(i).Name)
				}
			}
		}
	}
}

// numberSize returns how many bytes a field or a variable has; "8" if it is no number of fewer.
func numberSize(l *Lookup, in place, name string) string {
	size := uint64(8)
	switch {
	case in.variable != "":
		v := l.Variable(in.variable)
		t := l.names.Type(v.Type)
		if _, of, ok := l.Field(&t, name); ok {
			size = uint64(l.names.Type(of).Size)
		}
	case in.typ == "":
		size = uint64(l.names.Type(l.Variable(name).Type).Size)
	case name != "":
		_, size = l.Range(in.typ, name)
	}
	return strconv.FormatUint(min(size, 8), 10)
}

// The fields of a structure lie apart, and inside of it; the error names a field that is missing.
func TestFill(t *testing.T) {
	l := In(ownIndex(t), 0)
	var span Span
	l.Fill(&span)
	require.NoError(t, l.Err())
	fields := reflect.ValueOf(span)
	seen := make(map[uint64]bool)
	for i := 1; i < fields.NumField(); i++ {
		name, off := fields.Type().Field(i).Name, fields.Field(i).Uint()
		assert.False(t, seen[off], "%s is where another field is", name)
		seen[off] = true
		assert.True(t, name == "Size" || off < uint64(span.Size), "%s", name)
	}
	l.Fill(&struct {
		_    struct{} `of:"runtime.mspan"`
		Gone uint64   `is:"noSuchField"`
	}{})
	require.ErrorContains(t, l.Err(), "type runtime.mspan has no field noSuchField")
}

// Below "at" are addresses of variables and of their fields.
func TestFillAddresses(t *testing.T) {
	const bias = 1 << 40
	l := In(ownIndex(t), bias)
	var at struct {
		_     struct{} `at:""`
		Sched uint64   `is:"runtime.sched"`
		_     struct{} `at:"runtime.sched"`
		Ended uint64   `is:"freem"`
		_     struct{} `of:"runtime.schedt"`
		Size  uint64
		Field uint64 `is:"freem"`
	}
	l.Fill(&at)
	require.NoError(t, l.Err())
	assert.Greater(t, at.Sched, uint64(bias))
	assert.Greater(t, at.Field, uint64(0))
	assert.Less(t, at.Field, at.Size)
	assert.Equal(t, at.Sched+at.Field, at.Ended)
	l.Fill(&struct {
		_    struct{} `at:"runtime.sched"`
		Gone uint64   `is:"noSuchField"`
	}{})
	require.EqualError(t, l.Err(), "the variable runtime.sched has no field noSuchField")
}

// The words of a program's module data are where its debug information has them.
func TestOwnWords(t *testing.T) {
	at, ok := ownWordsOf(runtime.Version())
	require.True(t, ok)
	l := In(ownIndex(t), 0)
	var m Module
	l.Fill(&m)
	require.NoError(t, l.Err())
	for _, w := range []struct {
		want uintptr
		got  int
	}{
		{m.Text, ownText},
		{m.TextEnd, ownTextEnd},
		{m.Data, ownData},
		{m.Types, ownTypes},
		{m.TypesEnd, at.typesEnd},
		{m.ROData, at.rodata},
		{m.LinesEnd, at.linesEnd},
		{m.Next, at.next},
	} {
		assert.Equal(t, w.want, uintptr(8*w.got))
	}
	own, ok := OwnModule(runtime.Version())
	require.True(t, ok)
	pc := uintptr(reflect.ValueOf(TestOwnWords).Pointer())
	assert.True(t, own.Text <= pc && pc < own.TextEnd)
}

func TestOwnWordsOf(t *testing.T) {
	for version, want := range map[string]bool{
		"go1.26.8": true, "go1.27.3": true, "go1.28.0": false, "go1.27rc1": false, "go1.26.8 X:nogreenteagc": false, "devel go1.27-abcdef": false, "": false,
	} {
		_, ok := ownWordsOf(version)
		require.Equal(t, want, ok, version)
	}
}
