package proof

import (
	"context"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/capture/liveread"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// An Ended is a variable of a function that is calling something, and that does not use the
// variable again after the call: what only the variable referred to is garbage during the call.
type Ended struct {
	Name string
	Func string // the function whose frame the variable was in
	File string // of the call, without its folder
	Line int
	// Keeps reports whether an object of that type, or a reference to one, is on the way from such
	// a variable to the objects that it was asked for.
	Keeps func(typ string) bool
}

// EndedVariables returns the variables of the functions on a stack of this goroutine, return
// addresses from the inside out, that have ended and whose types lead to objects that is selects
// (see TypeCount): by pointers, fields and elements, and through interfaces that the program
// declares to what it converts to them. It looks at functions of the program up to package testing,
// and leaves out variables of the selected type itself and variables that the call cannot see. It
// costs some microseconds for each variable. It returns nil if it cannot tell.
func EndedVariables(ctx context.Context, stack []uintptr, is func(reference string) bool) (found []Ended) {
	defer snapshot.Turn()()
	var err error
	defer snapshot.Guard(&err)()
	if snapshot.Padded || snapshot.CheckPlatform() != nil || snapshot.CheckSettings() != nil {
		return nil
	}
	p, err := openProgram(ctx)
	if err != nil {
		return nil
	}
	e := &endedFinder{program: p, ways: typeWays{x: p.x, bias: p.bias, is: is, modules: symbol.OwnModules(), asked: make(map[debuginfo.TypeID]bool)}}
	frames := runtime.CallersFrames(stack)
	var calls []runtime.Frame // of one physical frame, the innermost first
	for {
		f, more := frames.Next()
		if pkg := symbol.Package(f.Function); pkg == "testing" || f.Function == "runtime.goexit" {
			break
		}
		if calls = append(calls, f); f.Func != nil {
			e.frame(calls)
			calls = calls[:0]
		}
		if !more {
			break
		}
	}
	return e.found
}

type endedFinder struct {
	*program
	ways  typeWays
	found []Ended
}

// frame looks at the variables of one frame. calls are its function, last, and the functions that
// were inlined into it up to the call.
func (e *endedFinder) frame(calls []runtime.Frame) {
	own := &calls[len(calls)-1]
	pkg := symbol.Package(own.Function)
	if symbol.IsTool(pkg) || e.ways.modules.IsStandard(pkg) {
		return
	}
	pc := uint64(calls[0].PC) - e.bias
	f := e.code.FuncAt(uint64(own.Entry))
	if f == nil {
		return
	}
	live, err := e.code.FrameMap(f, uint64(calls[0].PC)+1)
	if err != nil {
		return
	}
	for _, l := range e.x.Locals(uint64(own.Entry) - e.bias) {
		call := own
		if l.Inline != "" {
			i := slices.IndexFunc(calls[:len(calls)-1], func(f runtime.Frame) bool { return symbol.Unescape(f.Function) == l.Inline })
			if i < 0 {
				continue
			}
			call = &calls[i]
		}
		if !symbol.IsIdentifier(l.Name) || l.Line > call.Line || !sees(l.Block, pc) || follows(&live, l.Ranges, pc) {
			continue
		}
		keeps := e.ways.keeps(l.Type)
		if keeps == nil || debuginfo.Drops(call.File, l.Name, l.Line, call.Line) {
			continue
		}
		e.found = append(e.found, Ended{Name: l.Name, Func: symbol.Unescape(own.Function), File: filepath.Base(call.File), Line: call.Line, Keeps: keeps})
	}
}

// sees reports whether a block of code holds pc.
func sees(block []debuginfo.Span, pc uint64) bool {
	return block == nil || slices.ContainsFunc(block, func(s debuginfo.Span) bool { return s.Low <= pc && pc < s.High })
}

// follows reports whether the collector follows a word of a variable during a call. The range of a
// variable's place in the frame may begin right behind the call.
func follows(live *goruntime.FrameMap, places []debuginfo.Place, pc uint64) bool {
	for _, p := range places {
		if (p.Low != 0 || p.High != 0) && (pc+1 < p.Low || p.High <= pc) {
			continue
		}
		for at := p.CFAOffset; at < p.CFAOffset+p.Size; at += 8 {
			if live.Live(at) {
				return true
			}
		}
	}
	return false
}

// typeWays finds how types lead to objects that is selects.
type typeWays struct {
	x       *debuginfo.Index
	bias    uint64
	is      func(reference string) bool
	modules *symbol.Modules
	asked   map[debuginfo.TypeID]bool // what is said of types
}

// keeps returns a function that reports whether a type is on the way from t to the selected types,
// nil if t does not lead to them, or is one. An unnamed slice, map or array may be anybody's copy:
// then all types count that lead there.
func (w *typeWays) keeps(t debuginfo.TypeID) func(typ string) bool {
	on := w.way(t)
	if on == nil {
		return nil
	}
	named := make(map[string]bool, len(on))
	for id := range on {
		named[w.x.TypeHead(id).Name] = true
	}
	listed := func(typ string) bool { return named[typ] || named[strings.TrimPrefix(typ, "*")] }
	if isUnnamed(w.x.TypeHead(t).Name) {
		return func(typ string) bool {
			id, ok := w.x.TypeByName(typ)
			return listed(typ) || ok && w.way(id) != nil
		}
	}
	return listed
}

// isUnnamed reports whether a type is a slice, array, map or channel without a name of its own.
func isUnnamed(name string) bool {
	for _, prefix := range [...]string{"[", "map[", "chan ", "<-chan "} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// maxWay bounds the number of types that one is followed to.
const maxWay = 1 << 12

// way returns the types by which t leads to the selected types, but for these; nil if it does not,
// or is one.
func (w *typeWays) way(t debuginfo.TypeID) map[debuginfo.TypeID]bool {
	if w.selected(t) {
		return nil
	}
	next := make(map[debuginfo.TypeID][]debuginfo.TypeID)
	all := []debuginfo.TypeID{t}
	for i := 0; i < len(all) && len(all) < maxWay; i++ {
		id := all[i]
		if _, seen := next[id]; seen || w.selected(id) {
			continue
		}
		next[id] = w.parts(id)
		all = append(all, next[id]...)
	}
	on := make(map[debuginfo.TypeID]bool)
	for more := true; more; {
		more = false
		for id, parts := range next {
			if !on[id] && slices.ContainsFunc(parts, func(p debuginfo.TypeID) bool { return on[p] || w.selected(p) }) {
				on[id], more = true, true
			}
		}
	}
	if !on[t] {
		return nil
	}
	return on
}

// selected reports whether objects of a type are meant, or references to them.
func (w *typeWays) selected(id debuginfo.TypeID) bool {
	is, known := w.asked[id]
	if !known {
		is = w.isSelected(w.x.TypeHead(id))
		w.asked[id] = is
	}
	return is
}

func (w *typeWays) isSelected(t debuginfo.Type) bool {
	return t.Kind != reflect.Interface && t.Kind != reflect.Func && t.Name != "" && (w.is(t.Name) || w.is("*"+t.Name))
}

// parts returns the types that a value of a type leads to. Types of the standard library lead to
// none of the program's, but for generic ones.
func (w *typeWays) parts(id debuginfo.TypeID) (parts []debuginfo.TypeID) {
	t := w.x.TypeHead(id)
	switch t.Kind {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		return []debuginfo.TypeID{t.Elem}
	case reflect.Map:
		return []debuginfo.TypeID{t.Key, t.Elem}
	case reflect.Struct, reflect.Interface:
		if strings.HasPrefix(t.Name, "weak.Pointer[") {
			return nil
		}
		if !strings.Contains(t.Name, "[") && w.modules.IsStandard(symbol.Package(t.Name)) {
			return nil
		}
		if t.Kind == reflect.Interface {
			return w.implementations(t)
		}
		for _, f := range w.x.Type(id).Fields {
			parts = append(parts, f.Type)
		}
	}
	return parts
}

// implementations returns the types that the program converts to an interface with methods.
func (w *typeWays) implementations(t debuginfo.Type) (found []debuginfo.TypeID) {
	if !t.HasMethodsIface || t.RuntimeHash == 0 {
		return nil
	}
	g, ok := w.x.GlobalByName("runtime.itabTable")
	if !ok {
		return nil
	}
	liveread.EachImplementation(uintptr(g.Addr+w.bias), t.RuntimeHash, func(hash uint32) {
		found = append(found, w.x.TypesByHash(hash)...)
	})
	return found
}
