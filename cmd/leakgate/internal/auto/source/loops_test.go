package source

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const source = `package a

import "testing"

func BenchmarkN(b *testing.B) {
	for i := 0; i < b.N; i++ {
		for j := 0; j < b.N; j++ {
		}
	}
	for range b.N {
	}
}

func BenchmarkLoop(b *testing.B) {
	b.Run("sub", func(sub *testing.B) {
		for sub.Loop() {
		}
	})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
		}
	})
}

func helper(b *box) {
	for i := 0; i < b.N; i++ {
	}
}

type box struct{ N int }
`

func TestLoops(t *testing.T) {
	got, err := Loops("a_test.go", []byte(source), "x/y")
	require.NoError(t, err)
	want := strings.NewReplacer(
		"package a\n", "package a; import leakgatetick \"x/y\"\n",
		"for i := 0; i < b.N; i++ {\n\t\tfor", "for i := 0; i < b.N; i++ { leakgatetick.Tick(b, b.N == 1);\n\t\tfor",
		"for range b.N {", "for range b.N { leakgatetick.Tick(b, b.N == 1);",
		"for pb.Next() {", "for pb.Next() { leakgatetick.TickParallel(pb);",
		"for sub.Loop() {", "for sub.Loop() { leakgatetick.Tick(sub, false);",
	).Replace(source)
	require.Equal(t, want, string(got))
	require.Equal(t, strings.Count(source, "\n"), strings.Count(string(got), "\n"))

	got, err = Loops("a_test.go", []byte("package a\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n"), "x/y")
	require.NoError(t, err)
	require.Nil(t, got)
}
