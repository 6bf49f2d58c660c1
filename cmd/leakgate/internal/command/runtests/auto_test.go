package runtests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/drive"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/finding"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
)

// Where nothing was judged, nothing is said of growth.
func TestCoverage(t *testing.T) {
	o := new(Options)
	o.auto.time = time.Minute
	a := &autoRun{session: &session{options: o}, sorter: finding.NewSorter("", nil)}
	a.uncovered = []drive.Tried{{Name: "TestA", Status: repeat.Untold}}
	require.Equal(t, "covered 0 %: repeated 0 of 1 function in 36 s; 1 not covered: 1 could not tell; -auto-time 3m covers more", a.coverage(36*time.Second))
	a.covered = 2
	require.Equal(t, "repeated 2 of 3 functions in 36 s, nothing grows; 1 not covered: 1 could not tell; -auto-time 3m covers more", a.coverage(36*time.Second))
	a.uncovered = make([]drive.Tried, 98)
	require.Equal(t, "covered 2 %: repeated 2 of 100 functions in 60 s, nothing grows; 98 not covered: 98 without time; -auto-time 3m covers more", a.coverage(time.Minute))
	a.packages, a.undecided = 2, []string{"example.com/m/b"}
	require.Equal(t, "covered 2 %, no verdict on 1 of 2 packages (example.com/m/b)", a.partial())
}

// The command that shows a leak again has all that the user gave and that the leak may depend on.
func TestAgain(t *testing.T) {
	many := strings.Fields("TestA TestB TestC TestD TestE TestF TestG TestH TestI TestJ TestK")
	for _, test := range []struct{ args, one, all string }{
		{"", "leakgate run -auto -run '^TestA$' p", "leakgate run -auto -auto-time 3m p"},
		{
			"-C|a b|-race|-tags|x,y|-run|Test|--|-modfile=go_test.mod|-ldflags|-X a.b=it's|-tags=z|-exec=sudo -n|-args|$HOME",
			`leakgate run -auto -C 'a b' -tags x,y -race -run '^TestA$' p -- '-ldflags=-X a.b=it'\''s' -tags=z '-exec=sudo -n' -modfile=go_test.mod -args '$HOME'`,
			`leakgate run -auto -C 'a b' -tags x,y -race -run 'Test' -auto-time 3m p -- '-ldflags=-X a.b=it'\''s' -tags=z '-exec=sudo -n' -modfile=go_test.mod -args '$HOME'`,
		},
		{"--|-modfile|a\n.mod|", "leakgate run -auto -run '^TestA$' p -- -modfile 'a\n.mod' ''", "leakgate run -auto -auto-time 3m p -- -modfile 'a\n.mod' ''"},
	} {
		args := []string{"-auto"}
		if test.args != "" {
			args = append(args, strings.Split(test.args, "|")...)
		}
		o, err := Parse(args)
		require.NoError(t, err)
		require.Equal(t, test.one, o.again()("p", many[:1]))
		require.Equal(t, test.all, o.again()("p", many))
	}
}

// The base of a run is built and run as the run is.
func TestBaseTakesFlagsBehind(t *testing.T) {
	o, err := Parse(strings.Fields("-base HEAD -- -tags=x -short -ldflags -w -modfile=go_test.mod -args -v"))
	require.NoError(t, err)
	require.Equal(t, strings.Fields("-update -count 1 -- -ldflags=-w -tags=x -short -modfile=go_test.mod -args -v"), o.baseArgs())
}
