// Package ended counts how many objects a module hands out, and how many of these are ended:
// closed, stopped, cancelled. leakgate run -auto adds calls of it to the module's functions.
//
// Until Begin, its functions do nothing. It refers to objects by weak pointers alone. All functions
// may be called by several goroutines.
package ended

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
	"weak"
)

// A tally is how many objects were handed out under a key, how many of them were ended, and how
// many calls handed out nothing, because they failed. A key is the name of the function that handed
// them out, or of their type.
type tally struct{ made, ended, nothing int64 }

// An object is one that was handed out, or that was passed to the module.
type object struct {
	keys  []string
	ended bool
	typ   reflect.Type // of what was passed to the module: a pointer or channel; nil for others
}

var (
	begun atomic.Bool

	mu      sync.Mutex // guards what follows
	counts  = make(map[string]*tally)
	objects = make(map[weak.Pointer[byte]]*object)
	pruneAt = minPrune
)

// minPrune is the number of objects from which on the dead ones are forgotten.
const minPrune = 1 << 10

// Begin starts to count.
func Begin() { begun.Store(true) }

// Each calls visit with what was counted since Begin. Objects that were passed to the module count
// as ended if they are garbage, cancelled or closed.
func Each(visit func(key string, made, ended, nothing int64)) {
	mu.Lock()
	defer mu.Unlock()
	all := make(map[string]tally, len(counts))
	for key, c := range counts {
		all[key] = *c
	}
	for ptr, o := range objects {
		if o.typ == nil {
			continue
		}
		if at := ptr.Value(); at == nil || isOver(o.typ, unsafe.Pointer(at)) {
			for _, key := range o.keys {
				c := all[key]
				c.ended++
				all[key] = c
			}
		}
	}
	for key, c := range all {
		visit(key, c.made, c.ended, c.nothing)
	}
}

// Made records the result of a function, if it is a pointer, or an interface with a pointer in it.
func Made[T any](function string, result *T) {
	if !begun.Load() {
		return
	}
	if at, typ := pointer(*result); at != nil {
		made(at, nil, function, nameOf(typ))
	} else {
		failed(function)
	}
}

// MadeField is Made for a result whose use ends with that of one of its fields: the result is a
// struct that embeds the field, or has it as a channel that callers close.
func MadeField[T any](function string, result *T, fields ...string) {
	if !begun.Load() {
		return
	}
	v := reflect.ValueOf(*result)
	if !v.IsValid() {
		return
	}
	typ := nameOf(v.Type())
	for _, name := range fields {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			if v.IsNil() {
				return
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return
		}
		if v = v.FieldByName(name); !v.IsValid() {
			return
		}
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Chan && !v.IsNil():
		made(v.UnsafePointer(), v.Type(), function, typ)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		made(v.UnsafePointer(), nil, function, typ)
	case v.CanAddr():
		made(unsafe.Pointer(v.UnsafeAddr()), nil, function, typ)
	}
}

// MadeFunc records a function that ends what its maker began, and puts another one in its place
// that records the call.
func MadeFunc[F ~func()](key string, result *F) {
	end := *result
	switch {
	case !begun.Load():
		return
	case end == nil:
		failed(key)
		return
	}
	add(key, 1, 0)
	var once sync.Once
	*result = func() {
		once.Do(func() { add(key, 0, 1) })
		end()
	}
}

// MadeFuncErr is MadeFunc for a function that returns an error.
func MadeFuncErr[F ~func() error](key string, result *F) {
	end := *result
	switch {
	case !begun.Load():
		return
	case end == nil:
		failed(key)
		return
	}
	add(key, 1, 0)
	var once sync.Once
	*result = func() error {
		once.Do(func() { add(key, 0, 1) })
		return end()
	}
}

// Ended records a call of the method that ends the use of obj.
func Ended[T any](obj *T) {
	if obj == nil || !begun.Load() {
		return
	}
	ptr := weak.Make((*byte)(unsafe.Pointer(obj)))
	mu.Lock()
	defer mu.Unlock()
	o := objects[ptr]
	if o == nil { // no function of the module made it
		o = &object{keys: []string{nameOf(reflect.TypeFor[*T]())}}
		objects[ptr] = o
		count(o.keys[0]).made++
	}
	if !o.ended {
		o.ended = true
		for _, key := range o.keys {
			count(key).ended++
		}
	}
	prune()
}

// Did records a call of one of two functions, one of which undoes what the other does.
func Did(key string) {
	if begun.Load() {
		add(key, 1, 0)
	}
}

// Undid records a call of the other one.
func Undid(key string) {
	if begun.Load() {
		add(key, 0, 1)
	}
}

// Passed records a context, a channel, or something to close that is passed to a function.
func Passed[T any](key string, arg T) {
	if !begun.Load() {
		return
	}
	if ctx, ok := any(arg).(context.Context); ok && ctx.Done() == nil {
		return // it never ends
	}
	if at, typ := pointer(arg); at != nil {
		made(at, typ, key)
	}
}

// nameOf returns the full name of a type, or of the one that it points to, without type arguments.
func nameOf(typ reflect.Type) string {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	name, _, _ := strings.Cut(typ.Name(), "[")
	return typ.PkgPath() + "." + name
}

// pointer returns the pointer in a value, and its type; nil if it has none.
func pointer(v any) (unsafe.Pointer, reflect.Type) {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Chan, reflect.Map:
		return r.UnsafePointer(), r.Type()
	}
	return nil, nil
}

func made(at unsafe.Pointer, typ reflect.Type, keys ...string) {
	ptr := weak.Make((*byte)(at))
	mu.Lock()
	defer mu.Unlock()
	o := objects[ptr]
	if o == nil || o.ended && typ == nil { // one that was ended is used once more
		o = &object{typ: typ}
		objects[ptr] = o
	}
	for _, key := range keys {
		if !slices.Contains(o.keys, key) { // it may be handed on by several functions
			o.keys = append(o.keys, key)
			count(key).made++
		}
	}
	prune()
}

func add(key string, made, ended int64) {
	mu.Lock()
	defer mu.Unlock()
	c := count(key)
	c.made, c.ended = c.made+made, c.ended+ended
}

func failed(key string) {
	mu.Lock()
	defer mu.Unlock()
	count(key).nothing++
}

func count(key string) *tally {
	c := counts[key]
	if c == nil {
		c = new(tally)
		counts[key] = c
	}
	return c
}

// prune forgets objects that are garbage, so that memory does not grow with calls.
func prune() {
	if len(objects) < pruneAt {
		return
	}
	for ptr, o := range objects {
		if ptr.Value() != nil {
			continue
		}
		if o.typ != nil {
			for _, key := range o.keys {
				count(key).ended++
			}
		}
		delete(objects, ptr)
	}
	pruneAt = max(minPrune, 2*len(objects))
}

// isOver reports whether what lies at an address was cancelled or closed.
func isOver(typ reflect.Type, at unsafe.Pointer) bool {
	if typ.Kind() == reflect.Chan {
		v := reflect.NewAt(typ, unsafe.Pointer(&at)).Elem()
		if typ.ChanDir()&reflect.RecvDir == 0 {
			return false
		}
		x, ok := v.TryRecv()
		return x.IsValid() && !ok
	}
	if typ.Kind() != reflect.Pointer {
		return false
	}
	switch v := reflect.NewAt(typ.Elem(), at).Interface().(type) {
	case context.Context:
		return v.Err() != nil
	case syscall.Conn: // descriptors
		c, err := v.SyscallConn()
		return err != nil || c.Control(func(uintptr) {}) != nil
	case interface{ SetDeadline(time.Time) error }: // net.Pipe
		return v.SetDeadline(time.Time{}) != nil
	}
	return false
}
