package gotest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStatic adds words to the C linker's flags, however they are quoted, if these link statically.
func TestStatic(t *testing.T) {
	for _, tt := range []struct {
		value, want string
		static      bool
	}{
		{"-extldflags=-static", "'-extldflags=-static /a/x.o -Wl,--wrap=malloc'", true},
		{"-linkmode=external -extldflags -static -X=a.b=c", "-linkmode=external -extldflags '-static /a/x.o -Wl,--wrap=malloc' -X=a.b=c", true},
		{`-linkmode external "-extldflags=-lm -static-pie"`, "-linkmode external '-extldflags=-lm -static-pie /a/x.o -Wl,--wrap=malloc'", true},
		{`example.com/...=--extldflags '-static -L "/a b"'`, `example.com/...=--extldflags '-static -L "/a b" /a/x.o -Wl,--wrap=malloc'`, true},
		{"-extldflags=-static -extldflags=-lm", "-extldflags=-static -extldflags=-lm", false},
		{"-extldflags=-lm", "-extldflags=-lm", false},
		{"-extldflags=-static-libgcc", "-extldflags=-static-libgcc", false},
		{"-extldflags", "-extldflags", false},
		{"-X=a.b=-static", "-X=a.b=-static", false},
		{"-s", "-s", false},
		{"", "", false},
	} {
		got, static := addToStatic(tt.value, []string{"/a/x.o", "-Wl,--wrap=malloc"})
		require.Equal(t, tt.static, static, tt.value)
		if static && tt.want[0] == 'e' { // words that need both quotes
			pattern, flags := "example.com/...=", got[len("example.com/...="):]
			require.Equal(t, pattern, got[:len(pattern)])
			require.Equal(t, []string{"--extldflags", "-static -L '/a b' /a/x.o -Wl,--wrap=malloc"}, SplitQuoted(flags))
			continue
		}
		require.Equal(t, tt.want, got)
	}
	inv := &Invocation{GOFLAGS: "-ldflags=-extldflags=-static", Static: []string{"x.o"}}
	require.True(t, inv.LinksStatically())
	require.Contains(t, inv.Args(), "-ldflags='-extldflags=-static x.o' "+keepDWARF)
	inv.Static = nil
	require.Contains(t, inv.Args(), "-ldflags=-extldflags=-static "+keepDWARF)
	inv = &Invocation{Passthrough: Passthrough{LDFlags: []string{"-s"}}, Static: []string{"x.o"}}
	require.False(t, inv.LinksStatically())
}
