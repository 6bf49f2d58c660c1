//go:build amd64 || arm64

package alloc

import (
	"context"
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/require"
)

// The words of a program's module data are where its debug information has them.
func TestModuleWords(t *testing.T) {
	at, ok := wordsOf(runtime.Version())
	require.True(t, ok)
	index, err := snapshot.OpenIndex(context.Background(), t.Logf)
	require.NoError(t, err)
	id, ok := index.TypeByName("runtime.moduledata")
	require.True(t, ok)
	words := make(map[string]int)
	for _, f := range index.Type(id).Fields {
		words[f.Name] = int(f.Offset / 8)
	}
	for name, word := range map[string]int{
		"text": text, "etext": etext, "data": data, "types": types,
		"etypes": at.etypes, "rodata": at.rodata, "epclntab": at.epclntab, "next": at.next,
	} {
		require.Equal(t, words[name], word, name)
	}
}

func TestWordsOf(t *testing.T) {
	for version, want := range map[string]bool{
		"go1.26.8": true, "go1.27.3": true, "go1.28.0": false, "go1.27rc1": false, "go1.26.8 X:nogreenteagc": false, "devel go1.27-abcdef": false, "": false,
	} {
		_, ok := wordsOf(version)
		require.Equal(t, want, ok, version)
	}
}
