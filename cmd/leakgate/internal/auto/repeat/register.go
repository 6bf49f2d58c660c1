package repeat

import "testing"

// A kind of function calls another function of package testing.
type registered struct {
	test    testing.InternalTest
	example bool
}

var functions []registered

// Tests registers test functions. Generated code calls it from init.
func Tests(tests ...testing.InternalTest) {
	for _, t := range tests {
		functions = append(functions, registered{test: t})
	}
}

// Examples registers examples, as Tests does.
func Examples(examples ...testing.InternalExample) {
	for _, e := range examples {
		f := e.F
		functions = append(functions, registered{testing.InternalTest{Name: e.Name, F: func(*testing.T) { f() }}, true})
	}
}

// find returns the function of a name, nil if there is none.
func find(name string) *registered {
	for i := range functions {
		if functions[i].test.Name == name {
			return &functions[i]
		}
	}
	return nil
}
