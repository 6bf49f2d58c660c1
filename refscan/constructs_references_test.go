//go:build go1.26

package refscan_test

import (
	"container/list"
	"container/ring"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// keeps tests one construct: make stores what keeps cargoes alive in the variables. make's frame is
// gone when the process is frozen.
func keeps(t *testing.T, construct string, want map[string]int64, make func(), variables ...any) {
	t.Helper()
	t.Run(construct, func(t *testing.T) {
		t.Helper()
		defer func() {
			for _, v := range variables {
				reflect.ValueOf(v).Elem().SetZero()
			}
		}()
		make()
		r := holds(t, want)
		for _, root := range r.Roots {
			for path := range want {
				if root.Name == pkg+variableOf(path) {
					require.Zero(t, untypedBelow(root), "untyped objects below %s", root.Name)
				}
			}
		}
	})
}

// variableOf returns the root of a path.
func variableOf(path string) string {
	for i, c := range path {
		if c == '.' || c == '[' {
			return path[:i]
		}
	}
	return path
}

var (
	gLocalType     any
	gLocalGeneric  any
	gLocalArgument any
	gShapes        []any
	gGenericFunc   func() *cargo
	gGenericFuncs  []any
	gGenericMethod func(string, *cargo) func() *cargo
	gConstraint    any
	gAlias         vector[cargo]
)

type (
	vector[T any]              = []*T
	keyed[K comparable, V any] struct {
		byKey map[K]V
		first V
	}
	chain[T any] struct {
		value T
		rest  *chain[T]
	}
)

//go:noinline
func localType() any {
	type local struct{ p *cargo }
	return &local{newCargo()}
}

//go:noinline
func localInGeneric[T any](v T) any {
	type local struct {
		v    T
		list []T
	}
	return &local{v, []T{v}}
}

//go:noinline
func localAsArgument() any {
	type local struct{ p *cargo }
	return &chain[local]{local{newCargo()}, &chain[local]{value: local{newCargo()}}}
}

//go:noinline
func captureGeneric[T any](v T) func() T {
	return func() T { return v }
}

//go:noinline
func captureTwice[T any](v T) func() func() T {
	return func() func() T { return func() T { return v } }
}

type getterOf[T any] interface{ get() T }

//go:noinline
func boxConstraint[T getterOf[*cargo]](v T) any { return &chain[T]{value: v} }

func TestGenerics(t *testing.T) {
	keeps(t, "local type", map[string]int64{"gLocalType.p": 1}, func() { gLocalType = localType() }, &gLocalType)
	keeps(t, "local type of a generic function", map[string]int64{"gLocalGeneric.v": 1}, func() {
		gLocalGeneric = localInGeneric(newCargo())
	}, &gLocalGeneric)
	keeps(t, "local type as argument", map[string]int64{"gLocalArgument.value.p": 2}, func() {
		gLocalArgument = localAsArgument()
	}, &gLocalArgument)
	keeps(t, "shapes of several types", map[string]int64{"gShapes[*].first": 2, "gShapes[*].byKey[*]": 2, "gShapes[*].byKey[*].p": 1}, func() {
		gShapes = []any{
			&keyed[string, *cargo]{map[string]*cargo{"a": newCargo()}, newCargo()},
			&keyed[int, *cargo]{map[int]*cargo{1: newCargo()}, newCargo()},
			&keyed[string, *onlyPointer]{map[string]*onlyPointer{"a": {newCargo()}}, nil},
			&keyed[string, *int]{map[string]*int{"a": new(int)}, new(int)},
		}
	}, &gShapes)
	keeps(t, "closure of a generic function", map[string]int64{"gGenericFunc.v": 1}, func() {
		gGenericFunc = captureGeneric(newCargo())
	}, &gGenericFunc)
	keeps(t, "closures of one shape", map[string]int64{"gGenericFuncs[*].v": 1, "gGenericFuncs[*].v.p": 1}, func() {
		gGenericFuncs = []any{captureGeneric(newCargo()), captureGeneric(&onlyPointer{newCargo()}), captureGeneric(new(int)), captureTwice(new(int))}
	}, &gGenericFuncs)
	keeps(t, "method value", map[string]int64{"gGenericMethod.$recv.m[*]": 1}, func() {
		p := &pair[string, *cargo]{}
		p.add("x", newCargo())
		gGenericMethod = p.add
	}, &gGenericMethod)
	keeps(t, "constraint with methods", map[string]int64{"gConstraint.value.p": 1}, func() {
		gConstraint = boxConstraint(onlyPointer{newCargo()})
	}, &gConstraint)
	keeps(t, "alias with parameters", map[string]int64{"gAlias[*]": 3}, func() {
		gAlias = vector[cargo]{newCargo(), newCargo(), newCargo()}
	}, &gAlias)
}

var (
	gPlainClosure  func() *cargo
	gAnyClosure    any
	gNestedClosure func() func() *cargo
	gInnerClosure  func() *cargo
	gByReference   func() *cargo
	gShared        [2]func(*cargo) *cargo
	gInlined       func() *cargo
	gMade          func() *cargo
	gManyCaptures  func() *cargo
	gUnlisted      func() *cargo
	gRecursive     func(int) *cargo
	gArrayCapture  func(int) *cargo
	gStructCapture func(func(*manyWords))
	gUnusedCapture func() *cargo
	gRangeFunc     func(func(*cargo) bool)
	gDeferring     func()
)

// manyWords is kept in no register.
type manyWords struct {
	p *cargo
	_ [6]int
}

// makeGetter is inlined, and with it the making of its closure.
func makeGetter(p *cargo) func() *cargo { return func() *cargo { return p } }

//go:noinline
func fillUnlisted() {
	p, s, array := newCargo(), onlyPointer{newCargo()}, [2]*cargo{newCargo(), newCargo()}
	gUnlisted = func() *cargo {
		if p.id == 1 {
			use(s.p)
			return array[1]
		}
		return p
	}
}

func TestClosures(t *testing.T) {
	keeps(t, "plain", map[string]int64{"gPlainClosure.p": 1}, func() {
		p := newCargo()
		gPlainClosure = func() *cargo { return p }
	}, &gPlainClosure)
	keeps(t, "in an interface", map[string]int64{"gAnyClosure.p": 1}, func() {
		p := newCargo()
		gAnyClosure = func() *cargo { return p }
	}, &gAnyClosure)
	keeps(t, "nested", map[string]int64{"gNestedClosure.p": 1, "gNestedClosure.q": 1}, func() {
		p, q := newCargo(), newCargo()
		gNestedClosure = func() func() *cargo {
			use(q)
			return func() *cargo { return p }
		}
	}, &gNestedClosure)
	keeps(t, "inner closure", map[string]int64{"gInnerClosure.p": 1, "gInnerClosure.mine": 1}, func() {
		p := newCargo()
		outer := func() func() *cargo {
			mine := newCargo()
			return func() *cargo {
				use(mine)
				return p
			}
		}
		gInnerClosure = outer()
	}, &gInnerClosure)
	keeps(t, "captured by reference", map[string]int64{"gByReference.p.$val": 1}, func() {
		p := newCargo()
		gByReference = func() *cargo {
			p.id++
			return p
		}
		p = newCargo()
	}, &gByReference)
	keeps(t, "two that share a variable", map[string]int64{"gShared[*].p.$val": 1}, func() {
		p := newCargo()
		gShared[0] = func(*cargo) *cargo { return p }
		gShared[1] = func(q *cargo) *cargo {
			p = q
			return q
		}
	}, &gShared)
	keeps(t, "inlined elsewhere", map[string]int64{"gInlined.p": 1, "gInlined.q": 1}, func() {
		p, q := newCargo(), newCargo()
		f := func() *cargo {
			p.id += q.id
			return p
		}
		f().id++
		gInlined = f
		f().id--
	}, &gInlined)
	keeps(t, "made by an inlined function", map[string]int64{"gMade.p": 1}, func() {
		use(makeGetter(newCargo())())
		gMade = makeGetter(newCargo())
	}, &gMade)
	keeps(t, "of every kind of variable", map[string]int64{
		"gManyCaptures.p": 1, "gManyCaptures.list[*]": 2, "gManyCaptures.m[*]": 1, "gManyCaptures.iface": 1,
		"gManyCaptures.f.p": 1, "gManyCaptures.c[*]": 1,
	}, func() {
		p, list, m := newCargo(), []*cargo{newCargo(), newCargo()}, map[int]*cargo{1: newCargo()}
		small, iface, f := byte(7), any(newCargo()), makeGetter(newCargo())
		c := make(chan *cargo, 1)
		c <- newCargo()
		gManyCaptures = func() *cargo {
			if small == 8 {
				_ = list[len(m)+len(c)]
				use(f())
				use(iface.(*cargo))
			}
			return p
		}
	}, &gManyCaptures)
	unusualClosures(t)
}

// unusualClosures tests closures about which debug information says less, or for which the compiler
// does more.
func unusualClosures(t *testing.T) {
	t.Helper()
	t.Run("of variables that debug information does not list", func(t *testing.T) {
		defer func() { gUnlisted = nil }()
		fillUnlisted()
		r := scan(t)
		sound(t, r)
		got, untyped := cargoes(t, r), untypedBelow(at(t, r, "gUnlisted"))
		switch {
		case got["gUnlisted.s.p"] > 0: // not optimised, it lists them
			require.Equal(t, map[string]int64{"gUnlisted.p": 1, "gUnlisted.s.p": 1, "gUnlisted.array[*]": 2}, got)
			require.Zero(t, untyped)
		case strings.HasPrefix(runtime.Version(), "go1.26"):
			// the closure's layout is there, so that only their names are not known
			require.Equal(t, map[string]int64{"gUnlisted.p": 1, "gUnlisted.$captured.p": 1, "gUnlisted.$captured[*]": 2}, got)
			require.Zero(t, untyped)
		default:
			require.Equal(t, map[string]int64{"gUnlisted.p": 1}, got)
			require.EqualValues(t, 6, untyped, "three cargoes and their data")
		}
	})
	keeps(t, "array that is indexed", map[string]int64{"gArrayCapture.array[*].p": 3}, func() {
		array := [3]manyWords{{p: newCargo()}, {p: newCargo()}, {p: newCargo()}}
		gArrayCapture = func(i int) *cargo { return array[i].p }
	}, &gArrayCapture)
	keeps(t, "struct of many words", map[string]int64{"gStructCapture.one.p": 1}, func() {
		one := manyWords{p: newCargo()}
		gStructCapture = func(f func(*manyWords)) { f2 := one; f(&f2) }
	}, &gStructCapture)
	keeps(t, "recursive", map[string]int64{"gRecursive.p": 1}, func() {
		p := newCargo()
		var f func(int) *cargo
		f = func(n int) *cargo {
			if n > 0 {
				return f(n - 1)
			}
			return p
		}
		gRecursive = f
	}, &gRecursive)
	keeps(t, "variable that only dead code uses", map[string]int64{"gUnusedCapture.used": 1}, func() {
		unused, used := newCargo(), newCargo()
		gUnusedCapture = func() *cargo {
			if false {
				return unused
			}
			return used
		}
		use(unused)
	}, &gUnusedCapture)
	keeps(t, "range over func", map[string]int64{"gRangeFunc.p": 1}, func() {
		p := newCargo()
		gRangeFunc = func(yield func(*cargo) bool) { yield(p) }
		for q := range gRangeFunc {
			use(q)
		}
	}, &gRangeFunc)
	keeps(t, "with defer and recover", map[string]int64{"gDeferring.p": 1, "gDeferring.q": 1}, func() {
		p, q := newCargo(), newCargo()
		gDeferring = func() {
			defer func() {
				if recover() != nil {
					use(p)
				}
			}()
			use(q)
		}
	}, &gDeferring)
}

func (h *holder) ServeHTTP(http.ResponseWriter, *http.Request) { use(nil) }

type server struct{ p *cargo }

func (s *server) serve(http.ResponseWriter, *http.Request) { use(s.p) }

// wideValue is a receiver of several words.
type wideValue struct {
	n int
	p *cargo
	l []*cargo
}

func (w wideValue) get() *cargo { return w.l[w.n] }

type embedding struct {
	*server
	_ int
}

var (
	gPointerMethod   func() *cargo
	gValueMethod     func() *cargo
	gInterfaceMethod func() *cargo
	gFuncTypeMethod  func()
	gMapMethod       func() int
	gPromoted        http.HandlerFunc
	gMethodExpr      func(*server, http.ResponseWriter, *http.Request)
	gMux             *http.ServeMux
	gAnyMethod       any
)

func (s *server) get() *cargo { return s.p }

type funcType func()

func (f funcType) call() { f() }

type mapType map[string]*cargo

func (m mapType) size() int { return len(m) }

func TestMethodValues(t *testing.T) {
	keeps(t, "pointer receiver", map[string]int64{"gPointerMethod.$recv.p": 1}, func() {
		gPointerMethod = (&server{newCargo()}).get
	}, &gPointerMethod)
	keeps(t, "value receiver", map[string]int64{"gValueMethod.$recv.p": 1, "gValueMethod.$recv.l[*]": 2}, func() {
		gValueMethod = wideValue{p: newCargo(), l: []*cargo{newCargo(), newCargo()}}.get
	}, &gValueMethod)
	keeps(t, "interface receiver", map[string]int64{"gInterfaceMethod.$recv.p": 1, "gInterfaceMethod.$recv.l[*]": 1}, func() {
		var g getter = wideValue{p: newCargo(), l: []*cargo{newCargo()}}
		gInterfaceMethod = g.get
	}, &gInterfaceMethod)
	keeps(t, "receiver of a func type", map[string]int64{"gFuncTypeMethod.$recv.p": 1}, func() {
		p := newCargo()
		gFuncTypeMethod = funcType(func() { use(p) }).call
	}, &gFuncTypeMethod)
	keeps(t, "receiver of a map type", map[string]int64{"gMapMethod.$recv[*]": 1}, func() {
		gMapMethod = mapType{"a": newCargo()}.size
	}, &gMapMethod)
	keeps(t, "promoted method", map[string]int64{"gPromoted.$recv.p": 1}, func() {
		gPromoted = embedding{server: &server{newCargo()}}.serve
	}, &gPromoted)
	keeps(t, "method expression", map[string]int64{}, func() { gMethodExpr = (*server).serve }, &gMethodExpr)
	keeps(t, "mux of method values", map[string]int64{"gMux.tree.emptyChild.handler.$recv.p": 20}, func() {
		gMux = http.NewServeMux()
		for i := range 20 {
			gMux.HandleFunc(fmt.Sprintf("GET /path%d/{id}", i), (&server{newCargo()}).serve)
		}
	}, &gMux)
	keeps(t, "in an interface", map[string]int64{"gAnyMethod.$recv.p": 1}, func() {
		gAnyMethod = (&server{newCargo()}).get
	}, &gAnyMethod)
}

var (
	gMakeFunc       func(int) *cargo
	gReflectMethod  any
	gReflectValue   reflect.Value
	gReflectAddr    reflect.Value
	gReflectStruct  reflect.Value
	gReflectFunc    reflect.Value
	gReflectMapIter *reflect.MapIter
	gReflectTyped   any
	gReflectSlice   any
)

func TestReflection(t *testing.T) {
	keeps(t, "MakeFunc", map[string]int64{"gMakeFunc.fn.p": 1}, func() {
		p := newCargo()
		gMakeFunc = reflect.MakeFunc(reflect.TypeFor[func(int) *cargo](), func([]reflect.Value) []reflect.Value {
			return []reflect.Value{reflect.ValueOf(p)}
		}).Interface().(func(int) *cargo)
	}, &gMakeFunc)
	keeps(t, "method value", map[string]int64{"gReflectMethod.rcvr.p": 1}, func() {
		gReflectMethod = reflect.ValueOf(&reflected{newCargo()}).MethodByName("Call").Interface()
	}, &gReflectMethod)
	keeps(t, "Value of a pointer", map[string]int64{"gReflectValue": 1}, func() { gReflectValue = reflect.ValueOf(newCargo()) }, &gReflectValue)
	keeps(t, "Value of a variable", map[string]int64{"gReflectAddr.p": 1}, func() {
		gReflectAddr = reflect.ValueOf(&onlyPointer{newCargo()}).Elem()
	}, &gReflectAddr)
	keeps(t, "Value of a struct", map[string]int64{"gReflectStruct.p": 1, "gReflectStruct.l[*]": 1}, func() {
		gReflectStruct = reflect.ValueOf(wideValue{p: newCargo(), l: []*cargo{newCargo()}})
	}, &gReflectStruct)
	keeps(t, "Value of a func", map[string]int64{"gReflectFunc.p": 1}, func() {
		p := newCargo()
		gReflectFunc = reflect.ValueOf(func() *cargo { return p })
	}, &gReflectFunc)
	keeps(t, "MapIter", map[string]int64{"gReflectMapIter.m[*]": 5}, func() {
		m := make(map[int]*cargo)
		for i := range 5 {
			m[i] = newCargo()
		}
		gReflectMapIter = reflect.ValueOf(m).MapRange()
		gReflectMapIter.Next()
	}, &gReflectMapIter)
	keeps(t, "made map and chan", map[string]int64{"gReflectTyped[*]": 2}, func() {
		m := reflect.MakeMap(reflect.TypeFor[map[string]*cargo]())
		m.SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf(newCargo()))
		m.SetMapIndex(reflect.ValueOf("b"), reflect.ValueOf(newCargo()))
		gReflectTyped = m.Interface()
	}, &gReflectTyped)
	keeps(t, "made slice", map[string]int64{"gReflectSlice[*]": 7}, func() {
		s := reflect.MakeSlice(reflect.TypeFor[[]*cargo](), 7, 9)
		for i := range 7 {
			s.Index(i).Set(reflect.ValueOf(newCargo()))
		}
		gReflectSlice = s.Interface()
	}, &gReflectSlice)
	made := reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[int]()},
		{Name: "B", Type: reflect.TypeFor[*cargo]()},
		{Name: "C", Type: reflect.SliceOf(reflect.ArrayOf(3, reflect.TypeFor[*cargo]()))},
	})
	keeps(t, "made struct", map[string]int64{"gReflectTyped.B": 1, "gReflectTyped.C[*][*]": 6}, func() {
		s := reflect.New(made).Elem()
		s.Field(1).Set(reflect.ValueOf(newCargo()))
		s.Field(2).Set(reflect.MakeSlice(s.Field(2).Type(), 2, 2))
		for i := range 6 {
			s.Field(2).Index(i / 3).Index(i % 3).Set(reflect.ValueOf(newCargo()))
		}
		gReflectTyped = s.Addr().Interface()
	}, &gReflectTyped)
}

var (
	gDirect      any
	gDirectNest  any
	gDirectArray any
	gFuncField   any
	gFirstField  any
	gWithMethods getter
	gAnySlice    []any
	gAnyArray    [4]any
	gError       error
	gNamedAny    map[string]any
	gIfaceInAny  *any
)

type (
	nestedDirect struct{ in struct{ p *cargo } }
	arrayDirect  [1]*cargo
	wrapped      struct {
		p   *cargo
		err error
	}
)

func (w *wrapped) Error() string { return "wrapped" }
func (w *wrapped) Unwrap() error { return w.err }

func TestInterfaces(t *testing.T) {
	keeps(t, "pointer-shaped struct", map[string]int64{"gDirect": 1}, func() { gDirect = onlyPointer{newCargo()} }, &gDirect)
	keeps(t, "pointer-shaped struct in a struct", map[string]int64{"gDirectNest": 1}, func() {
		gDirectNest = nestedDirect{struct{ p *cargo }{newCargo()}}
	}, &gDirectNest)
	keeps(t, "pointer-shaped array", map[string]int64{"gDirectArray": 1}, func() { gDirectArray = arrayDirect{newCargo()} }, &gDirectArray)
	keeps(t, "struct of a func", map[string]int64{"gFuncField.p": 1}, func() {
		p := newCargo()
		gFuncField = onlyFunc{func() *cargo { return p }}
	}, &gFuncField)
	keeps(t, "struct whose first field is a func", map[string]int64{"gFirstField.f.p": 1, "gFirstField.p": 1}, func() {
		p := newCargo()
		gFirstField = firstFunc{func() *cargo { return p }, newCargo()}
	}, &gFirstField)
	keeps(t, "with methods", map[string]int64{"gWithMethods.p": 1, "gWithMethods.l[*]": 1}, func() {
		gWithMethods = wideValue{p: newCargo(), l: []*cargo{newCargo()}}
	}, &gWithMethods)
	keeps(t, "slice of interfaces", map[string]int64{"gAnySlice[*]": 1, "gAnySlice[*].p": 2, "gAnySlice[*][*]": 1, "gAnySlice[*].$val[*]": 2}, func() {
		gAnySlice = []any{newCargo(), &onlyPointer{newCargo()}, firstFunc{p: newCargo()}, map[int]*cargo{1: newCargo()}, []*cargo{newCargo()}, &[]*cargo{newCargo()}, 7, "x"}
	}, &gAnySlice)
	keeps(t, "array of interfaces", map[string]int64{"gAnyArray[*]": 2, "gAnyArray[*].p": 1}, func() {
		gAnyArray = [4]any{newCargo(), onlyPointer{newCargo()}, &onlyPointer{newCargo()}, nil}
	}, &gAnyArray)
	keeps(t, "chain of errors", map[string]int64{"gError.err.p": 20}, func() {
		for range 20 {
			gError = &wrapped{newCargo(), gError}
		}
		gError = fmt.Errorf("around: %w", gError)
	}, &gError)
	keeps(t, "map of interfaces", map[string]int64{"gNamedAny[*]": 1, "gNamedAny[*].p": 1, "gNamedAny[*][*]": 1}, func() {
		gNamedAny = map[string]any{"a": newCargo(), "b": &onlyPointer{newCargo()}, "c": map[string]any{"d": newCargo()}}
	}, &gNamedAny)
	keeps(t, "pointer to an interface", map[string]int64{"gIfaceInAny": 1}, func() {
		var v any = newCargo()
		gIfaceInAny = &v
	}, &gIfaceInAny)
}

var (
	gSpare      []*cargo
	gBaseMoved  []*cargo
	gBaseStruct []wideValue
	gBaseTwice  [2][]*cargo
	gSubslice   []byte
	gSubstring  string
	gOfArray    []*cargo
	gEmptyTail  []*cargo
	gArrays     [][4]*cargo
	gArrayPtr   *[4]*cargo
)

func TestSlices(t *testing.T) {
	keeps(t, "capacity beyond length", map[string]int64{"gSpare[*]": 5}, func() {
		gSpare = make([]*cargo, 0, 8)
		for range 5 {
			gSpare = append(gSpare, newCargo())
		}
		gSpare = gSpare[:2]
	}, &gSpare)
	keeps(t, "moved base", map[string]int64{"gBaseMoved[*]": 40}, func() {
		for range 40 {
			gBaseMoved = append(gBaseMoved, newCargo())
		}
		gBaseMoved = gBaseMoved[33:]
	}, &gBaseMoved)
	keeps(t, "moved base of structs", map[string]int64{"gBaseStruct[*].p": 9, "gBaseStruct[*].l[*]": 9}, func() {
		for range 9 {
			gBaseStruct = append(gBaseStruct, wideValue{p: newCargo(), l: []*cargo{newCargo()}})
		}
		gBaseStruct = gBaseStruct[7:]
	}, &gBaseStruct)
	keeps(t, "two of one array", map[string]int64{"gBaseTwice[*][*]": 20}, func() {
		all := make([]*cargo, 20)
		for i := range all {
			all[i] = newCargo()
		}
		gBaseTwice = [2][]*cargo{all[15:], all[3:5]}
	}, &gBaseTwice)
	keeps(t, "moved to the end", map[string]int64{"gEmptyTail[*]": 6}, func() {
		gEmptyTail = make([]*cargo, 6)
		for i := range gEmptyTail {
			gEmptyTail[i] = newCargo()
		}
		gEmptyTail = gEmptyTail[5:5]
	}, &gEmptyTail)
	keeps(t, "of an array", map[string]int64{"gOfArray[*]": 10}, func() {
		a := new([10]*cargo)
		for i := range a {
			a[i] = newCargo()
		}
		gOfArray = a[4:]
	}, &gOfArray)
	keeps(t, "arrays", map[string]int64{"gArrays[*][*]": 12, "gArrayPtr[*]": 4}, func() {
		gArrays, gArrayPtr = make([][4]*cargo, 3), new([4]*cargo)
		for i := range 12 {
			gArrays[i/4][i%4] = newCargo()
		}
		for i := range gArrayPtr {
			gArrayPtr[i] = newCargo()
		}
	}, &gArrays, &gArrayPtr)
	t.Run("part of a large buffer", func(t *testing.T) {
		defer func() { gSubslice, gSubstring = nil, "" }()
		gSubslice = make([]byte, 3<<20)[1<<20 : 1<<20+10]
		gSubstring = string(make([]byte, 2<<20))[1<<20 : 1<<20+5]
		r := holds(t, map[string]int64{})
		require.EqualValues(t, 3<<20, at(t, r, "gSubslice").Bytes)
		require.EqualValues(t, 2<<20, at(t, r, "gSubstring").Bytes)
		require.Equal(t, "[]uint8", at(t, r, "gSubslice").Type)
		require.Equal(t, "string", at(t, r, "gSubstring").Type)
	})
}

var (
	gUnsafePointer unsafe.Pointer
	gUnsafeField   struct {
		u unsafe.Pointer
		n uintptr
	}
	gUnsafeTyped   *onlyPointer
	gAnInterior    *int
	gTheWhole      *withInterior
	gAnInner       *interiorPart
	gAField        *onlyPointer
	gAnElement     *wideValue
	gAtomicPointer atomic.Pointer[onlyPointer]
	gAtomicValue   atomic.Value
	gAtomicStruct  struct {
		p atomic.Pointer[cargo]
		v atomic.Value
	}
)

type withInterior struct {
	p     *cargo
	inner interiorPart
}

type interiorPart struct {
	n int
	p *cargo
}

// withField has fields that nothing else has.
type withField struct {
	first onlyPointer
	_     int
	more  []*cargo
}

func TestPointers(t *testing.T) {
	t.Run("unsafe.Pointer", func(t *testing.T) {
		defer func() { gUnsafePointer = nil }()
		gUnsafePointer = unsafe.Pointer(&onlyPointer{newCargo()})
		r := holds(t, map[string]int64{})
		require.EqualValues(t, 3, untypedBelow(at(t, r, "gUnsafePointer")), "the struct, its cargo, and that one's data")
	})
	t.Run("uintptr keeps nothing", func(t *testing.T) {
		gUnsafeField.n = uintptr(unsafe.Pointer(newCargo()))
		holds(t, map[string]int64{})
	})
	keeps(t, "unsafe.Pointer and a typed one", map[string]int64{"gUnsafePointer.p": 1}, func() {
		gUnsafeTyped = &onlyPointer{newCargo()}
		gUnsafePointer = unsafe.Pointer(gUnsafeTyped)
	}, &gUnsafeTyped, &gUnsafePointer)
	keeps(t, "interior pointer first", map[string]int64{"gAnInterior.p": 1, "gAnInterior.inner.p": 1}, func() {
		gTheWhole = &withInterior{p: newCargo()}
		gTheWhole.inner.p = newCargo()
		gAnInterior = &gTheWhole.inner.n // before gTheWhole in the order of names
	}, &gTheWhole, &gAnInterior)
	keeps(t, "interior pointer only", map[string]int64{"gAnInner.p": 1, "gAnInner.inner.p": 1}, func() {
		w := &withInterior{p: newCargo()}
		w.inner.p = newCargo()
		gAnInner = &w.inner
	}, &gAnInner)
	keeps(t, "pointer to a field only", map[string]int64{"gAField.first.p": 1, "gAField.more[*]": 2}, func() {
		w := &withField{more: []*cargo{newCargo(), newCargo()}}
		w.first.p = newCargo()
		gAField = &w.first
	}, &gAField)
	keeps(t, "pointer to an element only", map[string]int64{"gAnElement[*].p": 5, "gAnElement[*].l[*]": 5}, func() {
		all := make([]wideValue, 5)
		for i := range all {
			all[i] = wideValue{p: newCargo(), l: []*cargo{newCargo()}}
		}
		gAnElement = &all[3]
	}, &gAnElement)
	keeps(t, "atomic.Pointer", map[string]int64{"gAtomicPointer.p": 1}, func() { gAtomicPointer.Store(&onlyPointer{newCargo()}) }, &gAtomicPointer)
	keeps(t, "atomic.Value", map[string]int64{"gAtomicValue.p": 1, "gAtomicValue.l[*]": 1}, func() {
		gAtomicValue.Store(wideValue{p: newCargo(), l: []*cargo{newCargo()}})
	}, &gAtomicValue)
	keeps(t, "atomics in a struct", map[string]int64{"gAtomicStruct.p": 1, "gAtomicStruct.v": 1}, func() {
		gAtomicStruct.p.Store(newCargo())
		gAtomicStruct.v.Store(newCargo())
	}, &gAtomicStruct)
}

var (
	gSyncedMap   sync.Map
	gVictims     sync.Pool
	gOnceFunc    func()
	gOnceDone    func() *cargo
	gOncePending func() *cargo
	gOnceStruct  func() wideValue
	gOnceTwo     func() (*cargo, *onlyPointer)
	gOnceHeld    struct{ once func() (onlyPointer, error) }
	gOnceAny     any
)

func TestSynchronisation(t *testing.T) {
	keeps(t, "sync.Map", map[string]int64{"gSyncedMap[*]": 300, "gSyncedMap[$key]": 1, "gSyncedMap[*].p": 1}, func() {
		for i := range 300 {
			gSyncedMap.Store(i, newCargo())
		}
		gSyncedMap.Store(newCargo(), &onlyPointer{newCargo()})
	}, &gSyncedMap)
	keeps(t, "sync.OnceFunc", map[string]int64{"gOnceFunc.d.f.p": 1}, func() {
		p := newCargo()
		gOnceFunc = sync.OnceFunc(func() { use(p) })
	}, &gOnceFunc)
	keeps(t, "sync.OnceValue", map[string]int64{"gOnceDone.d.result": 1}, func() {
		gOnceDone = sync.OnceValue(newCargo)
		gOnceDone()
	}, &gOnceDone)
	keeps(t, "sync.OnceValue before its call", map[string]int64{"gOncePending.d.f.p": 1}, func() {
		p := newCargo()
		gOncePending = sync.OnceValue(func() *cargo { return p })
	}, &gOncePending)
	keeps(t, "sync.OnceValue of a struct", map[string]int64{"gOnceStruct.d.result.p": 1, "gOnceStruct.d.result.l[*]": 1}, func() {
		gOnceStruct = sync.OnceValue(func() wideValue { return wideValue{p: newCargo(), l: []*cargo{newCargo()}} })
		gOnceStruct()
	}, &gOnceStruct)
	keeps(t, "sync.OnceValues", map[string]int64{"gOnceTwo.d.r1": 1, "gOnceTwo.d.r2.p": 1}, func() {
		gOnceTwo = sync.OnceValues(func() (*cargo, *onlyPointer) { return newCargo(), &onlyPointer{newCargo()} })
		gOnceTwo()
	}, &gOnceTwo)
	keeps(t, "sync.OnceValues in a struct", map[string]int64{"gOnceHeld.once.d.r1.p": 1}, func() {
		gOnceHeld.once = sync.OnceValues(func() (onlyPointer, error) { return onlyPointer{newCargo()}, nil })
		_, _ = gOnceHeld.once()
	}, &gOnceHeld)
	keeps(t, "sync.OnceValue in an interface", map[string]int64{"gOnceAny.d.result": 1}, func() {
		f := sync.OnceValue(newCargo)
		f()
		gOnceAny = f
	}, &gOnceAny)
	t.Run("sync.Pool", func(t *testing.T) {
		defer func() { gVictims = sync.Pool{} }()
		// New lies behind the number of victims, where a slice has its capacity.
		gVictims.New = func() any { return newCargo() }
		// Every collection moves the contents of a pool to its victims, and a snapshot begins with
		// a collection. So the pool is in use meanwhile.
		stop := make(chan struct{})
		var ended sync.WaitGroup
		ended.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					gVictims.Put(newCargo())
					time.Sleep(100 * time.Microsecond) // a copy in place waits for a heap that is at rest
				}
			}
		})
		defer ended.Wait()
		defer close(stop)
		found := make(map[string]bool)
		for range 20 {
			s, err := refscan.Capture(refscan.WithoutSettling())
			require.NoError(t, err)
			r, err := s.Scan()
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.Zero(t, r.Totals.ExtraBytes)
			for path := range cargoes(t, r) {
				for _, part := range []string{"gVictims.local[*].", "gVictims.victim[*]."} {
					found[part] = found[part] || strings.HasPrefix(path, part)
				}
			}
			pool := at(t, r, "gVictims")
			require.Zero(t, untypedBelow(pool))
			for _, c := range pool.Children {
				require.Zero(t, c.RoomBytes, c.Name)
			}
			if len(found) == 2 && found["gVictims.local[*]."] && found["gVictims.victim[*]."] {
				break
			}
		}
		require.Equal(t, map[string]bool{"gVictims.local[*].": true, "gVictims.victim[*].": true}, found)
	})
}

var (
	gChanOfPointers chan *cargo
	gChanOfStructs  chan wideValue
	gChanOfAny      chan any
	gChanWrapped    chan *cargo
	gChanClosed     <-chan *cargo
	gChanOfChans    chan chan *cargo
)

func TestChannels(t *testing.T) {
	keeps(t, "buffered pointers", map[string]int64{"gChanOfPointers[*]": 3}, func() {
		gChanOfPointers = make(chan *cargo, 8)
		for range 3 {
			gChanOfPointers <- newCargo()
		}
	}, &gChanOfPointers)
	keeps(t, "buffered structs", map[string]int64{"gChanOfStructs[*].p": 2, "gChanOfStructs[*].l[*]": 2}, func() {
		gChanOfStructs = make(chan wideValue, 4)
		for range 2 {
			gChanOfStructs <- wideValue{p: newCargo(), l: []*cargo{newCargo()}}
		}
	}, &gChanOfStructs)
	keeps(t, "buffered interfaces", map[string]int64{"gChanOfAny[*]": 2, "gChanOfAny[*].p": 1}, func() {
		gChanOfAny = make(chan any, 4)
		gChanOfAny <- newCargo()
		gChanOfAny <- onlyPointer{newCargo()}
		gChanOfAny <- wideValue{p: newCargo()}
	}, &gChanOfAny)
	keeps(t, "buffer that wrapped around", map[string]int64{"gChanWrapped[*]": 3}, func() {
		gChanWrapped = make(chan *cargo, 4)
		for range 6 {
			gChanWrapped <- newCargo()
			if len(gChanWrapped) == cap(gChanWrapped) {
				<-gChanWrapped
			}
		}
	}, &gChanWrapped)
	keeps(t, "closed, with a buffer", map[string]int64{"gChanClosed[*]": 2}, func() {
		c := make(chan *cargo, 2)
		c <- newCargo()
		c <- newCargo()
		close(c)
		gChanClosed = c
	}, &gChanClosed)
	keeps(t, "of channels", map[string]int64{"gChanOfChans[*][*]": 2}, func() {
		gChanOfChans = make(chan chan *cargo, 2)
		for range 2 {
			c := make(chan *cargo, 1)
			c <- newCargo()
			gChanOfChans <- c
		}
	}, &gChanOfChans)
}

var (
	gMapOf        map[int]*cargo
	gMapIndirect  map[wideKey]wideElem
	gMapPlain     map[int32][3]int64
	gMapKeysOnly  map[any]struct{}
	gMapInMap     map[string]map[string]*cargo
	gMapOfStructs map[string]wideValue
	gMapOfSlices  map[string][]*cargo
	gMapOfArrays  map[[2]string][2]*cargo
	gMapEmpty     map[string]*cargo
)

type (
	wideKey struct {
		n int
		_ [17]int
		p *cargo
	}
	wideElem struct {
		p *cargo
		_ [20]int
		q *cargo
	}
)

func TestMaps(t *testing.T) {
	for _, n := range []int{1, 8, 9, 500, 2000, 14_000, 20_000} {
		keeps(t, fmt.Sprint(n, " entries"), map[string]int64{"gMapOf[*]": int64(n)}, func() {
			gMapOf = make(map[int]*cargo)
			for i := range n {
				gMapOf[i] = newCargo()
			}
		}, &gMapOf)
	}
	for _, n := range []int{3, 200} {
		keeps(t, fmt.Sprint(n, " keys and values of more than 128 bytes"), map[string]int64{
			"gMapIndirect[$key].p": int64(n), "gMapIndirect[*].p": int64(n), "gMapIndirect[*].q": int64(n),
		}, func() {
			gMapIndirect = make(map[wideKey]wideElem)
			for i := range n {
				gMapIndirect[wideKey{n: i, p: newCargo()}] = wideElem{p: newCargo(), q: newCargo()}
			}
		}, &gMapIndirect)
	}
	keeps(t, "keys of interface type", map[string]int64{"gMapKeysOnly[$key]": 3}, func() {
		gMapKeysOnly = map[any]struct{}{newCargo(): {}, newCargo(): {}, onlyPointer{newCargo()}: {}, 7: {}, "x": {}}
	}, &gMapKeysOnly)
	keeps(t, "maps of maps", map[string]int64{"gMapInMap[*][*]": 40}, func() {
		gMapInMap = make(map[string]map[string]*cargo)
		for i := range 20 {
			gMapInMap[fmt.Sprint(i)] = map[string]*cargo{"a": newCargo(), "b": newCargo()}
		}
	}, &gMapInMap)
	keeps(t, "structs", map[string]int64{"gMapOfStructs[*].p": 20, "gMapOfStructs[*].l[*]": 20}, func() {
		gMapOfStructs = make(map[string]wideValue)
		for i := range 20 {
			gMapOfStructs[fmt.Sprint(i)] = wideValue{p: newCargo(), l: []*cargo{newCargo()}}
		}
	}, &gMapOfStructs)
	keeps(t, "slices and arrays", map[string]int64{"gMapOfSlices[*][*]": 2, "gMapOfArrays[*][*]": 2}, func() {
		gMapOfSlices = map[string][]*cargo{"a": {newCargo()}, "b": {newCargo()}}
		gMapOfArrays = map[[2]string][2]*cargo{{"a", "b"}: {newCargo(), newCargo()}}
	}, &gMapOfSlices, &gMapOfArrays)
	t.Run("without pointers", func(t *testing.T) {
		defer func() { gMapPlain, gMapEmpty = nil, nil }()
		gMapPlain, gMapEmpty = make(map[int32][3]int64), make(map[string]*cargo)
		for i := range 2000 {
			gMapPlain[int32(i)] = [3]int64{}
		}
		r := holds(t, map[string]int64{}).Fold()
		require.EqualValues(t, 2000, at(t, r, "gMapPlain").Elems)
		require.EqualValues(t, 1, at(t, r, "gMapPlain").Objects)
		require.EqualValues(t, 2000, at(t, r, "gMapPlain", "[*]").Objects)
		require.EqualValues(t, 0, at(t, r, "gMapEmpty").Elems)
	})
	t.Run("cleared", func(t *testing.T) {
		defer func() { gMapOf = nil }()
		gMapOf = make(map[int]*cargo)
		for i := range 2000 {
			gMapOf[i] = newCargo()
		}
		clear(gMapOf)
		r := holds(t, map[string]int64{})
		require.EqualValues(t, 0, at(t, r, "gMapOf").Elems)
	})
}

var (
	gContextChain context.Context
	gLinked       *chain[*cargo]
	gBinaryTree   *fork
	gListed       *list.List
	gListValue    list.List
	gHolds        struct{ l *list.List }
	gRinged       *ring.Ring
	gGraph        *graphNode
	gDoubly       *double
)

type graphNode struct {
	edges []*graphNode
	p     *cargo
}

type fork struct {
	left, right *fork
	cargo       *cargo
}

func plant(depth int) *fork {
	if depth == 0 {
		return nil
	}
	return &fork{plant(depth - 1), plant(depth - 1), newCargo()}
}

type double struct {
	next, prev *double
	p          *cargo
}

func TestRecursion(t *testing.T) {
	keeps(t, "chain of 300 contexts", map[string]int64{"gContextChain.val": 300}, func() {
		gContextChain = context.Background()
		for i := range 300 {
			ctx, cancel := context.WithCancel(gContextChain)
			_ = cancel
			gContextChain = context.WithValue(ctx, named(fmt.Sprint(i)), newCargo())
		}
	}, &gContextChain)
	keeps(t, "list of 10,000", map[string]int64{"gLinked.value": 10_000}, func() {
		for range 10_000 {
			gLinked = &chain[*cargo]{newCargo(), gLinked}
		}
	}, &gLinked)
	keeps(t, "tree", map[string]int64{"gBinaryTree.cargo": 1023}, func() { gBinaryTree = plant(10) }, &gBinaryTree)
	keeps(t, "container/list", map[string]int64{"gListed.root.next.Value": 500}, func() {
		gListed = list.New()
		for range 500 {
			gListed.PushBack(newCargo())
		}
	}, &gListed)
	keeps(t, "container/list as a variable", map[string]int64{"gListValue.root.next.Value": 500}, func() {
		for range 500 {
			gListValue.PushBack(newCargo())
		}
	}, &gListValue)
	keeps(t, "container/list in a struct", map[string]int64{"gHolds.l.root.next.Value": 7}, func() {
		gHolds.l = list.New()
		for range 7 {
			gHolds.l.PushFront(newCargo())
		}
	}, &gHolds)
	keeps(t, "container/ring", map[string]int64{"gRinged.Value": 30}, func() {
		gRinged = ring.New(30)
		for range 30 {
			gRinged.Value = newCargo()
			gRinged = gRinged.Next()
		}
	}, &gRinged)
	keeps(t, "graph with cycles", map[string]int64{"gGraph.p": 50}, func() {
		var all []*graphNode
		for i := range 50 {
			v := &graphNode{p: newCargo()}
			all = append(all, v)
			v.edges = append(v.edges, all[i/2], all[i/3])
			all[i/2].edges = append(all[i/2].edges, v)
		}
		gGraph = all[0]
	}, &gGraph)
	keeps(t, "doubly linked list", map[string]int64{"gDoubly.p": 1000}, func() {
		gDoubly = &double{p: newCargo()}
		gDoubly.next, gDoubly.prev = gDoubly, gDoubly
		for range 999 {
			n := &double{next: gDoubly, prev: gDoubly.prev, p: newCargo()}
			n.prev.next, n.next.prev = n, n
		}
	}, &gDoubly)
}
