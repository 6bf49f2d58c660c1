package heaptype

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
)

// A survey lists the types of a program that are looked for by part of their names, or by what
// they have. It does not change.
type survey struct {
	instances map[string][]debuginfo.TypeID // instantiations of generic types, by generic name
	layouts   []debuginfo.Type              // what closures are allocated as
	structs   []structType                  // the other struct types
}

// survey makes the survey where it is first asked for.
func (k *maker) survey() *survey {
	if k.surveyed == nil {
		k.surveyed = newSurvey(k.names)
	}
	return k.surveyed
}

// closureLayout begins the names of the types that closures are allocated as.
const closureLayout = "noalg.struct { F uintptr; X0 "

//go:norace
func newSurvey(names Names) *survey {
	s := &survey{instances: make(map[string][]debuginfo.TypeID)}
	for i := 1; i <= names.NumTypes(); i++ {
		t := names.TypeHead(debuginfo.TypeID(i))
		if strings.HasPrefix(t.Name, closureLayout) {
			if t = names.Type(t.ID); len(t.Fields) > 1 {
				s.layouts = append(s.layouts, t)
				continue
			}
		}
		if t.Kind == reflect.Struct && !IsShaped(t.Name) && t.Size > 0 {
			s.structs = append(s.structs, structType{t.ID, sizeClass(uint64(t.Size))})
		}
		if head, _, ok := strings.Cut(t.Name, "["); ok && isGenericName(head) && !IsShaped(t.Name) {
			s.instances[head] = append(s.instances[head], t.ID)
		}
	}
	return s
}
