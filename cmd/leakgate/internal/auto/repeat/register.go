package repeat

import (
	"strings"
	"testing"
)

// A registered function is a test, or a function of another kind, which call runs.
type registered struct {
	name string
	test testing.InternalTest
	only string                        // the wanted subtest of a test; "": all
	call func(skipped *bool) (ok bool) // nil for tests
}

var functions []registered

// Tests registers test functions. Generated code calls it from init.
func Tests(tests ...testing.InternalTest) {
	for _, t := range tests {
		functions = append(functions, registered{name: t.Name, test: t})
	}
}

// Examples registers examples, as Tests does.
func Examples(examples ...testing.InternalExample) {
	for _, e := range examples {
		f := e.F
		other(e.Name, func(*bool) bool { f(); return true })
	}
}

// other registers a function of another kind than tests. call reports whether it passed, and sets
// skipped if it skipped itself.
func other(name string, call func(skipped *bool) (ok bool)) {
	functions = append(functions, registered{name: name, call: call})
}

// find returns the function with a name; nil if there is none. The part after a slash is a subtest.
func find(name string) *registered {
	name, only, _ := strings.Cut(name, "/")
	for _, f := range functions {
		if f.name == name {
			f.only = only
			return &f
		}
	}
	return nil
}
