package main

import (
	"testing"

	_ "go-cache"

	"github.com/leakgate/leakgate/leakcheck"
)

var cache []*int

func TestMainPackage(t *testing.T) {
	leakcheck.AssertRetained(t,
		leakcheck.Root("main.cache").MaxObjects(1), // package main goes by its name, too
		leakcheck.TypeNamed("*main.T").MaxObjects(1),
		leakcheck.Root("cache.Items").MaxObjects(1),
		leakcheck.Root("go-cache.Items").MaxObjects(1),
		leakcheck.Root("cache.Item").MaxObjects(1), // want `there is no variable or function "Item" in go-cache, so Root\("cache.Item"\) fails its test; did you mean "Items"\?`
		leakcheck.Root("prog.cache").MaxObjects(1),
		leakcheck.Root("main.caches").MaxObjects(1), // want `there is no variable or function "caches" in prog, so Root\("main.caches"\) fails its test; did you mean "cache"\?`
	)
}

type T struct{ next *T }
