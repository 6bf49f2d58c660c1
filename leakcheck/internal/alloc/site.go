package alloc

import (
	"cmp"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/alloccode"
	"github.com/leakgate/leakgate/internal/alloctrace"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

// A site is a stack that allocated objects of one size.
type site struct {
	stack   []refscan.SourceFrame
	size    int64 // of one object, in bytes
	objects int64
	of      *kind // their type; nil if the code does not tell
}

// A kind is the type of the objects that a call allocates, as its code tells.
type kind struct {
	name    string // as rows have it
	line    string // path in golden files of interface values of untold type, else ""
	array   bool   // the objects are arrays, so name begins with "[]"
	pointer bool   // objects have pointers
	isMap   bool
	untold  bool // the runtime is not given the type: a string's bytes are no object of type string
	// The rows of a channel's header and elements; nil for other types, and where both are one
	// object.
	parts []string
	size  int64 // of the object, in bytes
}

// sites calls op n times, and returns the stacks of all goroutines that allocated meanwhile, those
// with most objects first. Small objects without pointers that share a block are missing.
func sites(op *calls.Op, n int, classes []int64, wait time.Duration) []*site {
	end, err := takeTurn(wait)
	if err != nil {
		return nil
	}
	defer end()
	before := profile()
	func() {
		defer observe.SetMemProfileRate(1)()
		op.Times(n)
	}()
	var found []*site
	code := ownCode()
	for key, n := range profile() {
		n.objects -= before[key].objects
		n.bytes -= before[key].bytes
		if n.objects > 0 {
			each := n.bytes / n.objects
			one := site{observe.MemProfileFrames(n.stack), alloctrace.SizeOf(each, classes), n.objects, kindFromCode(code, n.stack, each, classes)}
			// The runtime has several ways into one allocation. They differ in frames that
			// are not shown.
			same := slices.IndexFunc(found, func(s *site) bool {
				return s.size == one.size && slices.Equal(s.stack, one.stack) && fmt.Sprint(s.of) == fmt.Sprint(one.of)
			})
			if same >= 0 {
				found[same].objects += one.objects
			} else {
				found = append(found, &one)
			}
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		return cmp.Or(b.objects-a.objects, b.size-a.size, int64(slices.CompareFunc(a.stack, b.stack, compareFrames))) < 0
	})
	return found
}

// kindFromCode returns the kind of the objects, each of size bytes, that the code of a stack
// allocates; nil if the code does not tell.
func kindFromCode(code *alloccode.Program, stack []uintptr, size int64, classes []int64) *kind {
	if code == nil {
		return nil
	}
	var a alloccode.Allocated
	ok := false
	// The call of a runtime function tells most. If that function is not one for allocations, its
	// own calls tell.
	list, outer := callsIn(stack)
	for i := min(outer, len(list)-1); i >= 0 && !ok; i-- {
		a, ok = code.At(list[i:], size, classes)
	}
	if !ok {
		return nil
	}
	k := &kind{name: strings.Trim(a.Name, "()"), array: a.Array, untold: a.Untold, size: alloctrace.SizeOf(size, classes)}
	if a.Boxed != "" {
		k.line = interfaceLine(a.Boxed)
	}
	if a.Descriptor == 0 {
		return k
	}
	t := typeAt(uintptr(a.Descriptor))
	k.name, k.pointer, k.isMap = naming.TypeName(t), code.HasPointers(a.Descriptor), t.Kind() == reflect.Map
	if a.Array {
		k.name = "[]" + k.name
	}
	switch {
	case t.Kind() != reflect.Chan:
	case size == int64(t.Size()):
		k.untold = false // a variable
	case !a.Untold:
		element := naming.TypeName(t.Elem())
		k.parts = []string{"runtime.hchan", element, "[]" + element}
	}
	return k
}

// sharesBlocks reports whether the objects that the profiler counts may be blocks of several small
// objects.
func (s *site) sharesBlocks() bool {
	return s.of != nil && !s.of.pointer && s.size == alloctrace.BlockSize
}

// in reports whether a row may count objects of this kind.
func (k *kind) in(r *row) bool {
	switch {
	case k.untold:
		return r.name == untyped
	case k.parts != nil:
		return slices.Contains(k.parts, r.name) && r.sizes[k.size] > 0
	case k.isMap && k.name == r.name: // for the map's headers, its code has the same type
		return r.sizes[k.size] > 0
	case k.name == r.name, !k.array && "*"+k.name == r.name && isReference(k.name), // a variable
		k.array && strings.TrimPrefix(k.name, "[]") == r.name: // an array of one element is an element
		return true
	case k.line != "":
		return r.line == k.line
	case k.isMap:
		return r.name == mapHeaders
	}
	return r.name == untyped && !k.pointer
}

func compareFrames(a, b refscan.SourceFrame) int {
	return cmp.Or(strings.Compare(a.Func, b.Func), a.Line-b.Line)
}

// A profiled has the memory profiler's figures for one stack and size.
type profiled struct {
	objects, bytes int64
	stack          []uintptr
}

type profileKey struct {
	stack [32]uintptr
	size  int64
}

// profile reads the memory profile, which has the allocations from before the last but one
// collection.
func profile() map[profileKey]profiled {
	runtime.GC()
	runtime.GC()
	records := observe.MemProfile()
	of := make(map[profileKey]profiled, len(records))
	for i := range records {
		r := &records[i]
		if r.AllocObjects > 0 {
			key := profileKey{r.Stack0, r.AllocBytes / r.AllocObjects}
			p := of[key]
			of[key] = profiled{p.objects + r.AllocObjects, p.bytes + r.AllocBytes, r.Stack()}
		}
	}
	return of
}
