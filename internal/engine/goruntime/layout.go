package goruntime

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
)

// Names is the part of the debug information that the runtime model needs.
type Names interface {
	GoVersion() string
	TypeByName(name string) (debuginfo.TypeID, bool)
	Type(id debuginfo.TypeID) debuginfo.Type
	GlobalByName(name string) (debuginfo.Global, bool)
}

// partialNames is implemented by Names that know neither the queues of finalizers and cleanups nor
// runtime.inProgress. What is queued counts as missed then.
type partialNames interface{ WithoutQueues() }

// layouts looks up field offsets by name; the first that is missing is kept as its error.
type layouts struct {
	names Names
	err   error
	last  debuginfo.Type // that was looked up: most questions are about the same one as before
}

// structType returns a type of the program, nil if there is none of that name. It is valid until
// the next call.
func (l *layouts) structType(name string) *debuginfo.Type {
	if l.last.Name != name || name == "" {
		id, ok := l.names.TypeByName(name)
		if !ok {
			return nil
		}
		l.last = l.names.Type(id)
	}
	return &l.last
}

// off returns the offset of a field, given as a dotted path, in a struct type of the runtime.
func (l *layouts) off(typeName, path string) uint64 {
	t := l.structType(typeName)
	if t == nil {
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
	t := l.structType(typeName)
	if t == nil {
		return 0, false
	}
	off, _, ok := l.field(t, path)
	return off, ok
}

// field returns the offset of a field, given as a dotted path, and its type.
func (l *layouts) field(in *debuginfo.Type, path string) (off uint64, typ debuginfo.TypeID, ok bool) {
	for _, f := range in.Fields {
		if f.Name == path { // in types from package nameless
			return uint64(f.Offset), f.Type, true
		}
	}
	for fields := in.Fields; ; {
		name, rest, more := strings.Cut(path, ".")
		i := 0
		for i < len(fields) && fields[i].Name != name {
			i++
		}
		if i == len(fields) {
			return 0, 0, false
		}
		off, typ = off+uint64(fields[i].Offset), fields[i].Type
		if !more {
			return off, typ, true
		}
		fields, path = l.names.Type(typ).Fields, rest
	}
}

func (l *layouts) size(typeName string) uint64 {
	t := l.structType(typeName)
	if t == nil || t.Size <= 0 {
		l.fail("type %s is not in the debug information", typeName)
		return 1
	}
	return uint64(t.Size)
}

// fieldSize is the size of a field.
func (l *layouts) fieldSize(typeName, path string) uint64 {
	t := l.structType(typeName)
	if t == nil {
		l.fail("type %s is not in the debug information", typeName)
		return 0
	}
	_, ft, ok := l.field(t, path)
	if !ok {
		l.fail("type %s has no field %s", typeName, path)
		return 0
	}
	return uint64(l.names.Type(ft).Size)
}

func (l *layouts) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// FieldOffset returns the offset of a field (a dotted path) of a type of the program.
func (m *Model) FieldOffset(typeName, path string) (uint64, error) {
	l := layouts{names: m.names}
	off := l.off(typeName, path)
	return off, l.err
}
