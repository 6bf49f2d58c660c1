package probe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"example.com/dep.v2"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

const pkg = "github.com/leakgate/leakgate/refscan/probe"

func TestOwnDebugInfo(t *testing.T) {
	if dir := os.Getenv("PROBE_CHDIR"); dir != "" {
		t.Chdir(dir)
	}
	CheckOwnDebugInfo(t)
}

// CheckOwnDebugInfo compares what the index says with what the program sees.
func CheckOwnDebugInfo(t *testing.T) {
	ctx := context.Background()
	if limit, err := time.ParseDuration(os.Getenv("PROBE_TIMEOUT")); err == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	x, err := debuginfo.Open(ctx, debuginfo.Options{Logf: func(format string, args ...any) { fmt.Printf("PROBE log "+format+"\n", args...) }})
	if err != nil {
		fmt.Println("PROBE error", err)
		t.Skip("no debug information")
	}
	fmt.Println("PROBE source", x.Source(), "warnings", x.Warnings())
	if x.GoVersion() == "" || x.Identity() == "" {
		t.Errorf("Go version %q, identity %q", x.GoVersion(), x.Identity())
	}

	// The difference between run-time and link-time addresses is the same for all.
	sessions, ok := x.GlobalByName(pkg + ".Sessions")
	if !ok {
		t.Fatal("no variable Sessions")
	}
	bias := uint64(uintptr(unsafe.Pointer(&Sessions))) - sessions.Addr
	for name, addr := range map[string]unsafe.Pointer{
		pkg + ".Count":              unsafe.Pointer(&Count),
		pkg + ".Tagged":             unsafe.Pointer(&Tagged),
		pkg + ".Version":            unsafe.Pointer(&Version),
		pkg + ".last":               unsafe.Pointer(&last),
		"example.com/dep.v2.Levels": unsafe.Pointer(&dep.Levels),
		"os.Args":                   unsafe.Pointer(&os.Args),
	} {
		g, ok := x.GlobalByName(name)
		if !ok {
			t.Errorf("no variable %s", name)
			continue
		}
		if g.Addr+bias != uint64(uintptr(addr)) {
			t.Errorf("%s is at %#x, expected %#x", name, g.Addr+bias, addr)
		}
	}
	if got := x.Type(sessions.Type); got.Name != "map[string]*"+pkg+".Session" || got.Kind != reflect.Map {
		t.Errorf("Sessions has type %+v", got)
	}

	// Types, by name and by hash.
	checkType(t, x, bias, reflect.TypeFor[Session](), pkg+".Session")
	checkType(t, x, bias, reflect.TypeFor[*Session](), "*"+pkg+".Session")
	checkType(t, x, bias, reflect.TypeFor[map[string]*Session](), "map[string]*"+pkg+".Session")

	// A function and its closure.
	hook := Hook(Login("a"))
	closure := **(**uintptr)(unsafe.Pointer(&hook))
	f, ok := x.FuncByPC(uint64(closure) - bias)
	if want := runtime.FuncForPC(closure).Name(); !ok || f.Name != want {
		t.Errorf("the closure is %+v, expected %s", f, want)
	}
	captures := x.Captures(f.Entry)
	if len(captures) != 2 {
		t.Fatalf("captures %+v", captures)
	}
	for _, c := range captures {
		slot := *(*unsafe.Pointer)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&hook)), c.Offset))
		switch {
		case c.Name == "n" && c.ByRef && x.Type(c.Type).Kind == reflect.Int:
		case c.Name == "s" && !c.ByRef && slot == unsafe.Pointer(last) && x.Type(c.Type).Name == "*"+pkg+".Session":
		default:
			t.Errorf("capture %+v of type %s holds %p", c, x.Type(c.Type).Name, slot)
		}
	}
	login, ok := x.FuncByPC(uint64(reflect.ValueOf(Hook).Pointer()) - bias)
	if !ok || login.Name != pkg+".Hook" || login.Line == 0 || login.Package != pkg {
		t.Errorf("Hook is %+v", login)
	}
	if file, line := debuginfo.Declaration(x, sessions); filepath.Base(file) != "app.go" || line == 0 {
		t.Errorf("Sessions is declared at %s:%d", file, line)
	}
	fmt.Println("PROBE checked", x.Source(), "tagged", Tagged, "version", Version)
}

type iface struct{ typ, data unsafe.Pointer }

func checkType(t *testing.T, x *debuginfo.Index, bias uint64, r reflect.Type, name string) {
	t.Helper()
	id, ok := x.TypeByName(name)
	if !ok {
		t.Errorf("no type %s", name)
		return
	}
	typ := x.Type(id)
	if typ.Kind != r.Kind() || typ.Size != int64(r.Size()) {
		t.Errorf("%s: %v of %d bytes, expected %v of %d", name, typ.Kind, typ.Size, r.Kind(), r.Size())
	}
	if r.Kind() == reflect.Struct {
		if len(typ.Fields) != r.NumField() {
			t.Errorf("%s has %d fields, expected %d", name, len(typ.Fields), r.NumField())
			return
		}
		for i, f := range typ.Fields {
			want := r.Field(i)
			if f.Name != want.Name || f.Offset != int64(want.Offset) || f.Embedded != want.Anonymous || x.Type(f.Type).Kind != want.Type.Kind() {
				t.Errorf("%s: field %+v (%v), expected %+v", name, f, x.Type(f.Type).Kind, want)
			}
		}
	}
	hash := *(*uint32)(unsafe.Add((*iface)(unsafe.Pointer(&r)).data, 16))
	if typ.RuntimeHash != hash {
		t.Errorf("%s: hash %#x, expected %#x", name, typ.RuntimeHash, hash)
	}
	found := false
	for _, c := range x.TypesByHash(hash) {
		found = found || c == id
	}
	if !found {
		t.Errorf("%s is not among the types of its hash", name)
	}
}
