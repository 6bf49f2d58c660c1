package gotest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArgs(t *testing.T) {
	for _, test := range []struct {
		name string
		inv  Invocation
		rest string // after --, split at |
		want string // split at |
	}{
		{
			name: "default",
			want: "test|-json|-count=1|-ldflags=-s=0 -w=0|p",
		},
		{
			name: "all flags",
			inv:  Invocation{Run: "A|B", Tags: "x,y", Timeout: "1m", Race: true, Verbose: true, AllocSites: true, Count: 3},
			rest: "-short|-args|-ldflags=mine",
			want: "test|-json|-count=3|-ldflags=-s=0 -w=0|-run=A|B|-tags=x,y|-timeout=1m|-race|-v|-memprofilerate=1|p|-short|-args|-ldflags=mine",
		},
		{
			name: "debug information for some",
			inv:  Invocation{Debug: []string{"example.com/a", "example.com/b"}},
			want: "test|-json|-count=1|-ldflags=example.com/a=-s=0 -w=0|-ldflags=example.com/b=-s=0 -w=0|p",
		},
		{
			name: "debug information for none",
			inv:  Invocation{Debug: []string{}},
			want: "test|-json|-count=1|p",
		},
		{
			name: "debug information for some, and the user's ldflags",
			inv:  Invocation{Debug: []string{"example.com/a"}},
			rest: "-ldflags=-X a=b",
			want: "test|-json|-count=1|-ldflags=-s=0 -w=0|-ldflags=-X a=b -s=0 -w=0|p",
		},
		{
			name: "ldflags in two words",
			rest: "-v|-ldflags|-X a=b -s -w|-short",
			want: "test|-json|-count=1|-ldflags=-s=0 -w=0|-ldflags=-X a=b -s -w -s=0 -w=0|p|-v|-short",
		},
		{
			name: "ldflags with a pattern, and empty",
			rest: "--ldflags=all=-X a=b|-ldflags=",
			want: "test|-json|-count=1|-ldflags=-s=0 -w=0|-ldflags=all=-X a=b -s=0 -w=0|-ldflags=-s=0 -w=0|p",
		},
		{
			name: "GOFLAGS before the command line's",
			inv:  Invocation{GOFLAGS: `-mod=mod '-ldflags=-X a=b' -v "--ldflags=all=-X 'c=d'"`},
			rest: "-ldflags=-X e=f",
			want: "test|-json|-count=1|-ldflags=-s=0 -w=0|-ldflags=-X a=b -s=0 -w=0|-ldflags=all=-X 'c=d' -s=0 -w=0|-ldflags=-X e=f -s=0 -w=0|p",
		},
		{
			name: "tags: the last that is given",
			inv:  Invocation{GOFLAGS: "-tags=a", Tags: "b"},
			rest: "-tags|c,d|-v",
			want: "test|-json|-count=1|-ldflags=-s=0 -w=0|-tags=c,d|p|-v",
		},
		{
			name: "tags in GOFLAGS",
			inv:  Invocation{GOFLAGS: "-tags=a"},
			want: "test|-json|-count=1|-ldflags=-s=0 -w=0|-tags=a|p",
		},
		{
			name: "tags as they were once written",
			rest: "-tags=a b",
			want: "test|-json|-count=1|-ldflags=-s=0 -w=0|-tags=a b|p",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var rest []string
			if test.rest != "" {
				rest = strings.Split(test.rest, "|")
			}
			var err error
			test.inv.Packages = []string{"p"}
			test.inv.Passthrough, err = ParsePassthrough(rest)
			require.NoError(t, err)
			require.Equal(t, test.want, strings.Join(test.inv.Args(), "|"))
		})
	}
}

func TestBuildFlagsAreThoseThatChangeWhatBelongsToTheBuild(t *testing.T) {
	p, err := ParsePassthrough([]string{"-tags", "a,b", "-short", "-mod=mod", "-asan", "-run", "X", "-args", "-tags=c"})
	require.NoError(t, err)
	inv := Invocation{Tags: "z", Race: true, Passthrough: p}
	require.Equal(t, []string{"-tags=a,b", "-race", "-mod=mod", "-asan"}, inv.BuildFlags())
	require.Equal(t, []string{"-short", "-mod=mod", "-asan", "-run", "X", "-args", "-tags=c"}, p.Args)
}

func TestParsePassthroughRefuses(t *testing.T) {
	for arg, want := range map[string]string{
		"-json":     "-json does not work after --",
		"--json=1":  "-json does not work after --",
		"-C=..":     "-C does not work after --",
		"-ldflags":  "-ldflags after -- has no value",
		"--ldflags": "-ldflags after -- has no value",
		"-tags":     "-tags after -- has no value",
	} {
		_, err := ParsePassthrough([]string{"-v", arg})
		require.ErrorContains(t, err, want, arg)
	}
}

func TestSplitQuoted(t *testing.T) {
	for in, want := range map[string][]string{
		"":                        nil,
		"  ":                      nil,
		"a  b\tc\n":               {"a", "b", "c"},
		`'a b' "c 'd" e'f g'`:     {"a b", "c 'd", "e'f", "g'"},
		`'-ldflags=-X "a=b c"' d`: {`-ldflags=-X "a=b c"`, "d"},
		`"open`:                   {"open"},
		`'' x`:                    {"", "x"},
	} {
		require.Equal(t, want, SplitQuoted(in), in)
	}
}
