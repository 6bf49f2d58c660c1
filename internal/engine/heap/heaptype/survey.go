package heaptype

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A survey lists the types of a program that are searched for by a prefix of their names or by
// their fields. It does not change.
type survey struct {
	instances map[string][]debuginfo.TypeID // instantiations of generic types, by generic name
	layouts   []debuginfo.Type              // struct types that closures are allocated as
	structs   []structType                  // the other struct types of small objects
}

// survey returns the survey, and makes it in the first call.
func (k *maker) survey() *survey {
	if k.surveyed == nil {
		k.surveyed = newSurvey(k.names)
	}
	return k.surveyed
}

// closureLayout is the prefix of the names of the struct types that closures are allocated as.
const closureLayout = "noalg.struct { F uintptr; X0 "

// maxSmall bounds the size of objects whose pointer words are a mask of 64 bits.
const maxSmall = 512

//go:norace
func newSurvey(names *debuginfo.Index) *survey {
	const some = 4 // one type in so many is a struct
	s := &survey{instances: make(map[string][]debuginfo.TypeID), structs: make([]structType, 0, names.NumTypes()/some)}
	for i := 1; i <= names.NumTypes(); i++ {
		t := names.TypeHead(debuginfo.TypeID(i))
		switch {
		case t.Kind != reflect.Struct || t.Size <= 0 || t.Size > maxSmall:
		case strings.HasPrefix(t.Name, closureLayout):
			s.layouts = append(s.layouts, names.Type(t.ID))
			continue
		case !symbol.IsShaped(t.Name):
			s.structs = append(s.structs, structType{t.ID, uint32(sizeClass(uint64(t.Size)))})
		}
		if head, _, ok := strings.Cut(t.Name, "["); ok && isGenericName(head) && !symbol.IsShaped(t.Name) {
			s.instances[head] = append(s.instances[head], t.ID)
		}
	}
	return s
}
