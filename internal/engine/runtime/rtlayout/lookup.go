// Package rtlayout describes the Go runtime's structures: the offsets of their fields, which it
// finds by name in debug information, and facts that debug information does not have, by Go
// version.
package rtlayout

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Names is the part of the debug information that has types and variables.
type Names interface {
	TypeByName(name string) (debuginfo.TypeID, bool)
	Type(id debuginfo.TypeID) debuginfo.Type
	GlobalByName(name string) (debuginfo.Global, bool)
}

// A Lookup finds types, fields and variables by name. It keeps the first missing name as its error,
// so a caller may look up many names before it checks Err. It is not safe for concurrent use.
type Lookup struct {
	names Names
	bias  uint64
	err   error
	last  debuginfo.Type // looked up last: most lookups use the same type again
}

// In returns a lookup in a program that was loaded bias bytes above where it was linked.
func In(names Names, bias uint64) *Lookup { return &Lookup{names: names, bias: bias} }

// Err returns the first error, nil if there was none.
func (l *Lookup) Err() error { return l.err }

// Fail sets the error, unless there is an earlier error.
func (l *Lookup) Fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// Struct returns the type of the program with a name, or nil, without an error, if there is none.
// It is valid until the next call.
func (l *Lookup) Struct(name string) *debuginfo.Type {
	if l.last.Name != name || name == "" {
		id, ok := l.names.TypeByName(name)
		if !ok {
			return nil
		}
		l.last = l.names.Type(id)
	}
	return &l.last
}

// Type returns a type of the program.
func (l *Lookup) Type(id debuginfo.TypeID) debuginfo.Type { return l.names.Type(id) }

// known is Struct for a type that has to be there.
func (l *Lookup) known(typ string) *debuginfo.Type {
	t := l.Struct(typ)
	if t == nil {
		l.Fail("type %s is not in the debug information", typ)
	}
	return t
}

// Maybe returns the offset of a field, given as a dotted path, that not every program has.
func (l *Lookup) Maybe(typ, path string) (off uint64, ok bool) {
	if t := l.Struct(typ); t != nil {
		off, _, ok = l.Field(t, path)
	}
	return off, ok
}

// Field returns the offset of a field, given as a dotted path, and its type.
func (l *Lookup) Field(in *debuginfo.Type, path string) (off uint64, typ debuginfo.TypeID, ok bool) {
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

// Size returns the size of a type. If the size is not known, it keeps an error and returns 1.
func (l *Lookup) Size(typ string) uint64 {
	t := l.known(typ)
	if t == nil || t.Size <= 0 {
		l.Fail("type %s has no size in the debug information", typ)
		return 1
	}
	return uint64(t.Size)
}

// Range returns the offset and the size of a field, given as a dotted path, in a struct type.
func (l *Lookup) Range(typ, path string) (off, size uint64) {
	t := l.known(typ)
	if t == nil {
		return 0, 0
	}
	off, of, ok := l.Field(t, path)
	if !ok {
		l.Fail("type %s has no field %s", typ, path)
		return 0, 0
	}
	return off, uint64(l.names.Type(of).Size)
}

// Variable returns a package variable, with its address in the process.
func (l *Lookup) Variable(name string) debuginfo.Global {
	v, ok := l.names.GlobalByName(name)
	if !ok {
		l.Fail("the variable %s is not in the debug information", name)
	}
	v.Addr += l.bias
	return v
}
