package goruntime

import (
	"strings"

	"github.com/leakgate/leakgate/internal/fmterr"
	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
)

// Names is the part of the debug information that the runtime model needs.
type Names interface {
	GoVersion() string
	TypeByName(name string) (debuginfo.TypeID, bool)
	Type(id debuginfo.TypeID) debuginfo.Type
	GlobalByName(name string) (debuginfo.Global, bool)
}

// partialNames is implemented by Names that know neither the queues of finalizers and cleanups nor runtime.inProgress. What
// is queued counts as missed then.
type partialNames interface{ WithoutQueues() }

// layouts looks up field offsets by name; the first that is missing is kept as its error.
type layouts struct {
	names Names
	err   error
}

func (l *layouts) structType(name string) (debuginfo.Type, bool) {
	id, ok := l.names.TypeByName(name)
	if !ok {
		return debuginfo.Type{}, false
	}
	return l.names.Type(id), true
}

// off returns the offset of a field, given as a dotted path, in a struct type of the runtime.
func (l *layouts) off(typeName, path string) uint64 {
	t, ok := l.structType(typeName)
	if !ok {
		l.fail("type %s is not in the debug information", typeName)
		return 0
	}
	off, _, ok := l.field(t, path)
	if !ok {
		l.fail("type %s has no field %s", typeName, path)
	}
	return off
}

// maybe is off for a field that not every version has.
func (l *layouts) maybe(typeName, path string) (uint64, bool) {
	t, ok := l.structType(typeName)
	if !ok {
		return 0, false
	}
	off, _, ok := l.field(t, path)
	return off, ok
}

func (l *layouts) field(t debuginfo.Type, path string) (uint64, debuginfo.Type, bool) {
	for _, f := range t.Fields {
		if f.Name == path { // in types from package nameless
			return uint64(f.Offset), l.names.Type(f.Type), true
		}
	}
	off := uint64(0)
	for name := range strings.SplitSeq(path, ".") {
		found := false
		for _, f := range t.Fields {
			if f.Name == name {
				off += uint64(f.Offset)
				t = l.names.Type(f.Type)
				found = true
				break
			}
		}
		if !found {
			return 0, debuginfo.Type{}, false
		}
	}
	return off, t, true
}

func (l *layouts) size(typeName string) uint64 {
	t, ok := l.structType(typeName)
	if !ok || t.Size <= 0 {
		l.fail("type %s is not in the debug information", typeName)
		return 1
	}
	return uint64(t.Size)
}

// fieldSize is the size of a field.
func (l *layouts) fieldSize(typeName, path string) uint64 {
	t, ok := l.structType(typeName)
	if !ok {
		l.fail("type %s is not in the debug information", typeName)
		return 0
	}
	_, ft, ok := l.field(t, path)
	if !ok {
		l.fail("type %s has no field %s", typeName, path)
		return 0
	}
	return uint64(ft.Size)
}

//go:noinline
func (l *layouts) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmterr.Errorf(format, args...)
	}
}

// FieldOffset returns the offset of a field (a dotted path) of a type of the program.
func (m *Model) FieldOffset(typeName, path string) (uint64, error) {
	l := layouts{names: m.names}
	off := l.off(typeName, path)
	return off, l.err
}
