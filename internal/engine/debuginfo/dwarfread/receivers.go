package dwarfread

import (
	"encoding/binary"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo/program"
	"github.com/leakgate/leakgate/internal/symbol"
)

// captureReceivers gives the wrappers of method values in shaped code what their closures hold: the
// receiver, and behind it the dictionary of the method (go1.26 and go1.27
// cmd/compile/internal/noder/reader.go, curry). Debug information lists what the wrapper keeps in
// its frame: a receiver that is held by reference, and more with the race detector or in code that
// is not optimised.
func (p *resolver) captureReceivers() {
	methods := make(map[uint64]method) // by the wrapper's entry
	receivers := make(map[string]program.TypeID)
	for entry, inlined := range p.wrappers {
		if m := p.wrapped(entry, inlined); m.receiver != "" {
			methods[entry] = m
			receivers[m.receiver] = 0
		}
	}
	if len(methods) == 0 {
		return
	}
	for id := range p.types {
		if known, wanted := receivers[p.types[id].Name]; wanted && known == 0 {
			receivers[p.types[id].Name] = program.TypeID(id)
		}
	}
	dicts := p.methodDictionaries()
	for i := range p.funcs {
		f := &p.funcs[i]
		m := methods[f.Entry]
		id := receivers[m.receiver]
		if id == 0 {
			continue
		}
		f.Dict = dicts[m.dict]
		listed := slices.DeleteFunc(slices.Clone(f.Captures), func(c program.Capture) bool {
			return symbol.IsDictionary(p.types[c.Type].Name)
		})
		switch {
		case len(listed) > 0 && listed[0].Offset == 8 && listed[0].Type == id:
			listed[0].Name = program.ReceiverName
			f.Captures = listed
		case len(listed) == 0 && p.types[id].Size <= maxByValue:
			f.Captures = []program.Capture{{Name: program.ReceiverName, Type: id, Offset: 8}}
		}
	}
}

// methodDictionaries returns what the variables of all methods tell of each dictionary.
func (p *resolver) methodDictionaries() map[string][]program.DictType {
	dicts := make(map[string][]program.DictType)
	seen := make(map[string]bool) // declared functions
	for i := range p.funcs {
		f := &p.funcs[i]
		name := declaredName(f.Name)
		if len(f.Dict) == 0 || seen[name] {
			continue
		}
		seen[name] = true
		of := methodOf(f.Package, name).dict
		for _, d := range f.Dict {
			if of != "" && !slices.Contains(dicts[of], d) {
				dicts[of] = append(dicts[of], d)
			}
		}
	}
	return dicts
}

// maxByValue is the largest size of what closures hold by value (go1.26 and go1.27
// cmd/compile/internal/escape/escape.go, flowClosure).
const maxByValue = 128

// wrapped returns the method of shaped code that a wrapper calls, none if several can be it. Either
// it was inlined, or the code has a call of it.
func (p *resolver) wrapped(entry uint64, inlined dieOffset) method {
	if o := p.origin(inlined); o != nil {
		if !isShaped(o.name) {
			return method{}
		}
		return methodOf(symbol.Package(o.name), symbol.Unescape(o.name))
	}
	byEntry := func(addr uint64) int {
		return sort.Search(len(p.funcs), func(i int) bool { return p.funcs[i].Entry >= addr })
	}
	var found *program.Function
	for _, to := range p.calls(entry, p.funcs[byEntry(entry)].End) {
		i := byEntry(to)
		if i == len(p.funcs) || p.funcs[i].Entry != to || !isShaped(p.funcs[i].Name) {
			continue
		}
		if found != nil && found != &p.funcs[i] {
			return method{}
		}
		found = &p.funcs[i]
	}
	if found == nil {
		return method{}
	}
	return methodOf(found.Package, found.Name)
}

// calls returns where the direct calls in code lead. What looks like a call on amd64, where
// instructions begin at any byte, leads nowhere in particular.
func (p *resolver) calls(low, high uint64) (to []uint64) {
	code := p.file.At(low, high-low)
	le := binary.LittleEndian
	switch p.file.GOARCH {
	case "amd64":
		for i := 0; i+5 <= len(code); i++ {
			if code[i] == 0xe8 {
				to = append(to, low+uint64(i)+5+uint64(int32(le.Uint32(code[i+1:]))))
			}
		}
	case "arm64":
		for i := 0; i+4 <= len(code); i += 4 {
			if ins := le.Uint32(code[i:]); ins>>26 == 0x25 {
				to = append(to, low+uint64(i)+uint64(int32(ins<<6)>>4))
			}
		}
	}
	return to
}

// A method is what its name in shaped code tells of it.
type method struct {
	receiver string // the type, "" if it is the name of no method
	dict     string // what the dictionary belongs to: the receiver's type, or the method itself
}

// methodOf takes the name of a method apart, such as "example.com/app.(*LRU[go.shape.int]).Get".
// Methods with type parameters (from go1.27 on) have dictionaries of their own.
func methodOf(pkg, name string) method {
	plain := name
	if strings.HasSuffix(name, "]") {
		depth, i := 0, len(name)-1
		for ; i > 0; i-- {
			switch name[i] {
			case ']':
				depth++
			case '[':
				depth--
			}
			if depth == 0 {
				break
			}
		}
		plain = name[:i]
	}
	dot := strings.LastIndexByte(plain, '.')
	if pkg == "" || dot <= len(pkg) {
		return method{}
	}
	recv := plain[len(pkg)+1 : dot]
	m := method{dict: name}
	if inner, isPointer := strings.CutPrefix(recv, "(*"); isPointer {
		recv = strings.TrimSuffix(inner, ")")
		m.receiver = "*"
	}
	m.receiver += pkg + "." + recv
	if plain == name {
		m.dict = pkg + "." + recv
	}
	return m
}
