package plugins

import (
	"context"
	"slices"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

var host = NewHost(context.Background())

func TestReloadDropsTheOldLog(t *testing.T) {
	reload(t, 20)

	leakcheck.AssertRetained(t,
		leakcheck.Type[*Log]().MaxObjects(1), // the log of the plugin that is loaded
	)
}

// TestRetained compares what a host without a plugin retains, and what wazero's finalizers keep,
// with testdata/leakcheck/TestRetained.golden.
func TestRetained(t *testing.T) {
	reload(t, 20)
	if err := host.Unload(t.Context()); err != nil {
		t.Fatal(err)
	}

	leakcheck.AssertRetained(t, leakcheck.Scope("example.com/plugins", "github.com/tetratelabs/wazero/..."),
		leakcheck.Ignore("platform.hugePagesConfigs", "one for each size of huge pages that the machine has"))
}

func TestNoGrowth(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { reload(t, 1) })
}

func reload(t *testing.T, n int) {
	t.Helper()
	ctx := context.Background()
	for range n {
		if err := host.Load(ctx, guest); err != nil {
			t.Fatal(err)
		}
		log, err := host.Run(ctx, 7)
		if err != nil {
			t.Fatal(err)
		}
		if want := []uint32{7, 8}; !slices.Equal(log, want) {
			t.Fatalf("the plugin logged %v, want %v", log, want)
		}
	}
}

// guest is this module:
//
//	(module
//	  (import "env" "log" (func $log (param i32)))
//	  (func (export "run") (param i32)
//	    (call $log (local.get 0))
//	    (call $log (i32.add (local.get 0) (i32.const 1)))))
var guest = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x05\x01\x60\x01\x7f\x00" + // types: one, from i32 to nothing
	"\x02\x0b\x01\x03env\x03log\x00\x00" + // imports: env.log, of type 0
	"\x03\x02\x01\x00" + // functions: one, of type 0
	"\x07\x07\x01\x03run\x00\x01" + // exports: run is function 1
	"\x0a\x0f\x01\x0d\x00" + // code: one body without locals
	"\x20\x00\x10\x00" + // local.get 0, call 0
	"\x20\x00\x41\x01\x6a\x10\x00" + // local.get 0, i32.const 1, i32.add, call 0
	"\x0b")
