package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMethod(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "in"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\ntype T[K any] struct{}\n\nfunc (t *T[K]) Close() error { return nil }\n\ntype U struct{}\n\nfunc (U) Do() {}\n\nfunc (U) Closed() bool { return false }\n\ntype Q[T any] struct{}\n\nfunc (q *Q[T]) ShutDown() {}\n\ntype Pool struct{ tasks chan int }\n\nfunc (p *Pool) Wait() { defer close(p.tasks) }\n\ntype Group struct{ cancel func() }\n\nfunc (g *Group) Wait() { g.cancel() }\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in", "b.go"), []byte("package in\n\ntype V struct{}\n\nfunc (v V) stop() {}\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in", "b_test.go"), []byte("package in\n\ntype W struct{}\n\nfunc (W) Close() {}\n"), 0o666))
	f := &Finder{Dirs: map[string]string{"example.com/a": dir}}
	for typ, want := range map[string]string{
		"*example.com/a.T[go.shape.int]": "Close", "example.com/a.U": "", "*example.com/a.Q[interface {}]": "ShutDown", "*example.com/a.Pool": "Wait", "*example.com/a.Group": "", "**example.com/a/in.V": "stop", "example.com/a/in.W": "",
		"example.com/b.T": "", "func()": "", "int": "", "struct { x example.com/a.T }": "",
	} {
		require.Equal(t, want, f.Method(typ), typ)
	}
}
