package dwarfread

import (
	"encoding/binary"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/symbol"
)

// captureReceivers gives the wrappers of method values in shaped code what their closures hold: the
// receiver, and behind it the dictionary of the method (go1.26 and go1.27
// cmd/compile/internal/noder/reader.go, curry). Debug information lists what the wrapper keeps in
// its frame: a receiver that is held by reference, and more with the race detector or in code that
// is not optimised.
func (p *resolver) captureReceivers(dicts map[string][]symindex.DictType) {
	for _, u := range p.units {
		for i := range u.funcs {
			raw := &u.funcs[i]
			if !raw.wrapper {
				continue
			}
			f := p.funcAt(raw.low)
			if f == nil || !symbol.IsShaped(f.Name) {
				continue
			}
			receiver, dict := p.wrapped(f, raw.inlined)
			id := len(p.types) - 1
			for id > 0 && p.types[id].Name != receiver {
				id--
			}
			if receiver == "" || id == 0 {
				continue
			}
			f.Dict = dicts[dict]
			last := len(f.Captures) - 1
			if last >= 0 && symbol.IsDictionary(p.types[f.Captures[last].Type].Name) {
				f.Captures = f.Captures[:last]
			}
			switch c := (symindex.Capture{Name: symindex.ReceiverName, Type: symindex.TypeID(id), Offset: 8}); {
			case len(f.Captures) > 0 && f.Captures[0].Offset == 8 && f.Captures[0].Type == c.Type:
				f.Captures[0].Name = c.Name
			case len(f.Captures) == 0 && p.types[id].Size <= maxByValue:
				f.Captures = append(f.Captures, c)
			}
		}
	}
}

// maxByValue is the largest size of what closures hold by value (go1.26 and go1.27
// cmd/compile/internal/escape/escape.go, flowClosure).
const maxByValue = 128

// funcAt returns the function with that entry, nil if there is none.
func (p *resolver) funcAt(entry uint64) *symindex.Function {
	i := sort.Search(len(p.funcs), func(i int) bool { return p.funcs[i].Entry >= entry })
	if i == len(p.funcs) || p.funcs[i].Entry != entry {
		return nil
	}
	return &p.funcs[i]
}

// wrapped tells of the method of shaped code that a wrapper calls, nothing if several can be it.
// Either it was inlined, or the code has a call of it.
func (p *resolver) wrapped(f *symindex.Function, inlined dieOffset) (receiver, dict string) {
	if o := p.origin(inlined); o != nil {
		if !symbol.IsShaped(o.name) {
			return "", ""
		}
		return methodOf(symbol.Package(o.name), symbol.Unescape(o.name))
	}
	var found *symindex.Function
	code := p.file.At(f.Entry, f.End-f.Entry)
	for i := 0; i+5 <= len(code); i++ {
		distance := p.callDistance(code[i:], i)
		if distance == 0 {
			continue
		}
		called := p.funcAt(f.Entry + uint64(i) + distance)
		if called == nil || called == f || !symbol.IsShaped(called.Name) {
			continue
		}
		if found != nil && found != called {
			return "", ""
		}
		found = called
	}
	if found == nil {
		return "", ""
	}
	return methodOf(found.Package, found.Name)
}

// callDistance returns how far from itself the call leads that an instruction is, 0 if it is none.
// What looks like a call on amd64, where instructions begin at any byte, leads nowhere in
// particular.
func (p *resolver) callDistance(code []byte, offset int) uint64 {
	ins := binary.LittleEndian.Uint32(code)
	switch {
	case p.file.GOARCH == "amd64" && code[0] == 0xe8:
		return 5 + uint64(int32(ins>>8|uint32(code[4])<<24))
	case p.file.GOARCH == "arm64" && offset%4 == 0 && ins>>26 == 0x25:
		return uint64(int32(ins<<6) >> 4)
	}
	return 0
}

// methodOf takes the name of a method apart, such as "example.com/app.(*LRU[go.shape.int]).Get". It
// returns the receiver's type, "" if it is the name of no method, and what the dictionary belongs
// to: that type without a pointer, or, from go1.27 on, a method with type parameters of its own.
func methodOf(pkg, name string) (receiver, dict string) {
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
		return "", ""
	}
	receiver = plain[len(pkg)+1 : dot]
	pointer := ""
	if inner, ok := strings.CutPrefix(receiver, "(*"); ok {
		pointer, receiver = "*", strings.TrimSuffix(inner, ")")
	}
	receiver = pkg + "." + receiver
	if plain != name {
		return pointer + receiver, name
	}
	return pointer + receiver, receiver
}
