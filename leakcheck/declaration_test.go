package leakcheck

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/refscan"
)

func TestDeclarationLine(t *testing.T) {
	const text = `package app

import "sync"

// var sessions is not this
var sessions = map[string]int{}

var (
	mu sync.Mutex
	a, b = f(
		inner,
	)
	last *T // var hidden
)

func f() {
	var local int
	inner := 1
}

var x, y int
var grouped struct {
	field int
}
`
	for name, want := range map[string]int{
		"sessions": 6, "mu": 9, "a": 10, "b": 10, "last": 13, "x": 21, "y": 21, "grouped": 22,
		"local": 0, "inner": 0, "field": 0, "hidden": 0, "is": 0, "sync": 0, "int": 0,
	} {
		if got := declarationLine(text, name); got != want {
			t.Errorf("%s: line %d, want %d", name, got, want)
		}
	}
}

func TestDeclarationOfPackageVariables(t *testing.T) {
	root := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("app/store/store.go", "package store\n\nvar items []int\n")
	write("app/store/store_test.go", "package store_test\n\nvar fixture int\n")
	write("app/top.go", "package app\n\nvar registry int\n")
	write("app/a_linux.go", "package app\n\nvar both int\n")
	write("app/a_windows.go", "package app\n\nvar both int\n")
	e := &environment{dir: filepath.Join(root, "app", "store"), packagePath: "example.com/app/store", modulePath: "example.com/app"}
	for name, want := range map[string]string{
		"example.com/app/store.items":        "store.go:3",
		"example.com/app/store_test.fixture": "store_test.go:3",
		"example.com/app.registry":           "../top.go:3",
		"example.com/app.both":               "",
		"example.com/app.none":               "",
		"other.org/lib.x":                    "",
	} {
		b := &branch{name: name, root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: packageOf(name)}}
		at := e.declaration(b)
		if got := e.place(at.file, at.line); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if os.Getenv("GOROOT") != "" {
		b := &branch{name: "net/http.DefaultClient", root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "net/http"}}
		if at := e.declaration(b); filepath.Base(at.file) != "client.go" {
			t.Errorf("net/http.DefaultClient: %v", at)
		}
	}
}
