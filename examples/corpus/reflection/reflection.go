// Package reflection leaks by types and functions that package reflect makes.
package reflection

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "reflection", Cases: []judge.Case{
	{Name: "StructOf", Leak: judge.Op(structOfEach), Fixed: judge.Op(structOfSame), Grows: judge.Objects, Culprit: `reflect\.`},
	{Name: "ArrayOf", Leak: judge.Op(arrayOfEach), Fixed: judge.Op(arrayOfSame), Grows: judge.Objects, Culprit: `reflect\.`},
	{Name: "FuncOf", Leak: judge.Op(funcOfEach), Fixed: judge.Op(funcOfSame), Grows: judge.Objects, Culprit: `reflect\.`},
	{Name: "MakeFunc", Leak: stubs(false), Fixed: stubs(true), Grows: judge.Objects, Culprit: `reflection\.mocks`},
	{Name: "JSONTypes", Leak: judge.Op(encodeEach), Fixed: judge.Op(encodeSame), Grows: judge.Objects, Culprit: `encoding/json|reflect\.`},
	{Name: "Values", Leak: values(false), Fixed: values(true), Grows: judge.Objects, Culprit: `reflection\.arguments`},
	{Name: "FieldPointers", Leak: fields(false), Fixed: fields(true), Grows: judge.Bytes(500), Culprit: `reflection\.targets`},

	{Name: "SameTypes", Healthy: judge.Op(sameTypes), Grows: judge.Objects},
	{Name: "Calls", Healthy: judge.Op(calls), Grows: judge.Objects},
}}

func record(name string) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: name, Type: reflect.TypeFor[string](), Tag: `json:"name"`}})
}

func structOfEach() { record(fmt.Sprint("Field", app.Next())) }

func structOfSame() { record("Field") }

func arrayOfEach() { reflect.ArrayOf(app.Next(), reflect.TypeFor[byte]()) }

func arrayOfSame() { reflect.ArrayOf(7, reflect.TypeFor[byte]()) }

func funcOfEach() {
	reflect.FuncOf([]reflect.Type{reflect.ArrayOf(app.Next(), reflect.TypeFor[int8]())}, nil, false)
}

func funcOfSame() {
	reflect.FuncOf([]reflect.Type{reflect.ArrayOf(7, reflect.TypeFor[int8]())}, nil, false)
}

// mocks are the functions that stand for others.
var mocks []func(string) string

func stub(s *app.Session) func(string) string {
	var f func(string) string
	reflect.ValueOf(&f).Elem().Set(reflect.MakeFunc(reflect.TypeOf(f), func([]reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(s.ID)}
	}))
	return f
}

func stubs(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { mocks = nil })
		return func() {
			if fixed {
				mocks = mocks[:0]
			}
			mocks = append(mocks, stub(app.NewSession()))
		}
	}
}

func encode(typ reflect.Type) {
	if _, err := json.Marshal(reflect.New(typ).Interface()); err != nil {
		panic(err)
	}
}

func encodeEach() { encode(record(fmt.Sprint("Encoded", app.Next()))) }

func encodeSame() { encode(record("Encoded")) }

var arguments []reflect.Value

func values(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { arguments = nil })
		return func() {
			if fixed {
				arguments = arguments[:0]
			}
			arguments = append(arguments, reflect.ValueOf(app.NewSession()))
		}
	}
}

// targets are what a row is scanned into: pointers to fields, of which each keeps its whole struct.
var targets []any

func fields(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { targets = nil })
		return func() {
			if fixed {
				targets = targets[:0]
			}
			row := new(struct {
				ID   int
				Text [500]byte
			})
			targets = append(targets, reflect.ValueOf(row).Elem().Field(0).Addr().Interface())
		}
	}
}

func sameTypes() {
	m := reflect.MakeMap(reflect.MapOf(reflect.TypeFor[string](), reflect.TypeFor[*app.Session]()))
	m.SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf(app.NewSession()))
	reflect.New(reflect.ArrayOf(7, reflect.TypeFor[app.Session]()))
	structOfSame()
}

func calls() {
	s := reflect.ValueOf(app.NewSession())
	s.MethodByName("Expire").Call(nil)
	stub(app.NewSession())("x")
}
