package main

import (
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

var cache []*int

func TestMainPackage(t *testing.T) {
	leakcheck.AssertRetained(t,
		leakcheck.Root("main.cache").MaxObjects(1),   // want `package main goes by its import path in a test, so Root\("main.cache"\) fails; did you mean "prog.cache"\?`
		leakcheck.TypeNamed("*main.T").MaxObjects(1), // want `so TypeNamed\("\*main.T"\) fails; did you mean "\*prog.T"\?`
		leakcheck.Root("prog.cache").MaxObjects(1),
	)
}

type T struct{ next *T }
