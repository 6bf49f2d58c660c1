package withoutdwarf

import (
	"encoding/binary"
	"reflect"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
)

// Type descriptors (internal/abi/type.go and map.go; the same in go1.26 and 1.27, but for the end
// of MapType).
const (
	tflagUncommon  = 1 << 0
	tflagExtraStar = 1 << 1
	tflagNamed     = 1 << 2

	nameEmbedded = 1 << 3 // a flag of abi.Name

	typeSize   = 48
	fieldSize  = 24
	maxFields  = 1 << 16
	maxName    = 1 << 16
	maxNesting = 32 // of unnamed types in a name
)

// typeEntry is a type that has a TypeID. Its descriptor is read when the type is first asked for;
// known says that it has been read.
type typeEntry struct {
	t     debuginfo.Type
	addr  uint64 // of the descriptor, 0 for the runtime's own structures
	known bool
}

func (n *Names) register(e typeEntry) debuginfo.TypeID {
	id := debuginfo.TypeID(len(n.types))
	e.t.ID = id
	n.types = append(n.types, e)
	if e.t.Name != "" {
		n.byName[e.t.Name] = id
	}
	return id
}

// NumTypes is the number of types found so far.
func (n *Names) NumTypes() int { return len(n.types) - 1 }

// TypesByHash returns nothing: TypeAt finds types by their descriptors' addresses.
func (n *Names) TypesByHash(uint32) []debuginfo.TypeID { return nil }

// TypeAt returns the type with a descriptor at an address of the process, 0 if there can be none.
func (n *Names) TypeAt(addr uint64) debuginfo.TypeID {
	if addr < n.lo || addr >= n.hi || addr%8 != 0 {
		return 0
	}
	id, ok := n.byAddr[addr]
	if !ok {
		id = n.register(typeEntry{addr: addr})
		n.byAddr[addr] = id
	}
	return id
}

// TypeByName finds a type among those found so far.
func (n *Names) TypeByName(name string) (debuginfo.TypeID, bool) {
	id, ok := n.byName[name]
	return id, ok
}

// Type returns a type; the zero Type if its descriptor cannot be read.
func (n *Names) Type(id debuginfo.TypeID) debuginfo.Type {
	if id == 0 || int(id) >= len(n.types) {
		return debuginfo.Type{}
	}
	if e := &n.types[id]; !e.known {
		e.known = true
		t := n.read(e.addr)
		t.ID = id
		n.types[id].t = t // reading may have registered others
		if t.Name != "" {
			n.byName[t.Name] = id
		}
	}
	return n.types[id].t
}

// TypeHead is Type, which reads each descriptor once, with its fields.
func (n *Names) TypeHead(id debuginfo.TypeID) debuginfo.Type { return n.Type(id) }

func (n *Names) read(addr uint64) debuginfo.Type {
	if !n.mem.Try(addr, typeSize+40) {
		return debuginfo.Type{}
	}
	b := n.mem.Bytes(addr, typeSize+40)
	t := debuginfo.Type{
		Kind: reflect.Kind(b[23] & 0x1f), Size: int64(u64(b)),
		RuntimeAddr: addr, RuntimeHash: binary.LittleEndian.Uint32(b[16:]),
	}
	word := func(i int) uint64 { return u64(b[typeSize+8*i:]) }
	switch t.Kind {
	case reflect.Pointer, reflect.Slice, reflect.Chan:
		t.Elem = n.TypeAt(word(0))
	case reflect.Array:
		t.Elem, t.Len = n.TypeAt(word(0)), int64(word(2))
	case reflect.Map:
		t.Key, t.Elem = n.TypeAt(word(0)), n.TypeAt(word(1))
	case reflect.Interface:
		t.HasMethodsIface = word(2) > 0
	case reflect.Struct:
		t.Fields = n.fields(word(1), word(2))
	}
	t.Name = n.name(addr, 0)
	if t.Kind == reflect.Map {
		// byName has the type of a map's groups under the name that debug information gives it.
		if group := n.TypeAt(word(2)); group != 0 {
			n.byName["noalg.map.group["+n.Type(t.Key).Name+"]"+n.Type(t.Elem).Name] = group
		}
	}
	return t
}

func (n *Names) fields(at, count uint64) []debuginfo.Field {
	if count > maxFields || !n.mem.Try(at, count*fieldSize) {
		return nil
	}
	fields := make([]debuginfo.Field, count)
	for i := range fields {
		f := at + uint64(i)*fieldSize
		name, flags := n.text(n.mem.U64(f))
		fields[i] = debuginfo.Field{
			Name: name, Type: n.TypeAt(n.mem.U64(f + 8)), Offset: int64(n.mem.U64(f + 16)), Embedded: flags&nameEmbedded != 0,
		}
	}
	return fields
}

// text reads an abi.Name: flags, a length, the text.
func (n *Names) text(addr uint64) (text string, flags byte) {
	if !n.mem.Try(addr, 1+binary.MaxVarintLen32) {
		return "", 0
	}
	b := n.mem.Bytes(addr, 1+binary.MaxVarintLen32)
	length, used := binary.Uvarint(b[1:])
	if used <= 0 || length > maxName || !n.mem.Try(addr, 1+uint64(used)+length) {
		return "", 0
	}
	return string(n.mem.Bytes(addr+1+uint64(used), length)), b[0]
}

// name returns a type's name with full import paths, as debug information has it. The descriptor of
// a named type has its name after the package's name. The names of functions, and of unnamed
// structs and interfaces, are as in package reflect.
func (n *Names) name(addr uint64, depth int) string {
	if depth > maxNesting || addr < n.lo || addr >= n.hi || !n.mem.Try(addr, typeSize+24) {
		return "?"
	}
	b := n.mem.Bytes(addr, typeSize+24)
	kind, flags := reflect.Kind(b[23]&0x1f), b[20]
	of := func(word int) string { return n.name(u64(b[typeSize+8*word:]), depth+1) }
	if flags&tflagNamed == 0 {
		switch kind {
		case reflect.Pointer:
			return "*" + of(0)
		case reflect.Slice:
			return "[]" + of(0)
		case reflect.Array:
			return "[" + strconv.FormatUint(u64(b[typeSize+16:]), 10) + "]" + of(0)
		case reflect.Map:
			return "map[" + of(0) + "]" + of(1)
		case reflect.Chan:
			switch reflect.ChanDir(u64(b[typeSize+8:])) {
			case reflect.RecvDir:
				return "<-chan " + of(0)
			case reflect.SendDir:
				return "chan<- " + of(0)
			}
			return "chan " + of(0)
		}
	}
	name, _ := n.text(n.lo + uint64(binary.LittleEndian.Uint32(b[40:])))
	if flags&tflagExtraStar != 0 {
		name = strings.TrimPrefix(name, "*")
	}
	if flags&tflagNamed != 0 && flags&tflagUncommon != 0 {
		if at := addr + typeSize + n.kindPartSize(kind); n.mem.Try(at, 4) {
			path, _ := n.text(n.lo + uint64(n.mem.U32(at)))
			if _, rest, ok := strings.Cut(name, "."); ok && path != "" {
				name = path + "." + rest
			}
		}
	}
	return name
}

// kindPartSize returns the size of the part of a descriptor that depends on its kind; an
// UncommonType follows it.
func (n *Names) kindPartSize(kind reflect.Kind) uint64 {
	switch kind {
	case reflect.Struct, reflect.Interface:
		return 32
	case reflect.Pointer, reflect.Slice, reflect.Func:
		return 8
	case reflect.Array:
		return 24
	case reflect.Chan:
		return 16
	case reflect.Map:
		return n.mapTail
	}
	return 0
}
