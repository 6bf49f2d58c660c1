package ext_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/refscan/probe/ext"
)

var held []string

func TestExternal(t *testing.T) {
	x, err := debuginfo.Open(context.Background(), debuginfo.Options{Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	a, okA := x.GlobalByName("github.com/leakgate/leakgate/refscan/probe/ext.X")
	type local struct{} // its package path is another if the test is built from files
	b, okB := x.GlobalByName(reflect.TypeFor[local]().PkgPath() + ".held")
	if !okA || !okB || uint64(uintptr(unsafe.Pointer(&ext.X)))-a.Addr != uint64(uintptr(unsafe.Pointer(&held)))-b.Addr {
		t.Errorf("X %+v, held %+v", a, b)
	}
	fmt.Println("PROBE checked", x.Source())
}
