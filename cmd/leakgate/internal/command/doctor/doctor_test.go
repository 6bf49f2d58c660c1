package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/doctor/program"
)

func TestParse(t *testing.T) {
	o, err := Parse([]string{"-json", "-timeout", "3s", "-C", "x"})
	require.NoError(t, err)
	require.Equal(t, &Options{dir: "x", json: true, timeout: 3 * time.Second}, o)
	for args, want := range map[string]string{
		"./...":       `doctor takes no arguments, and "./..." is one`,
		"-timeout 0s": "-timeout 0s: it is more than 0",
		"-nosuch":     "flag provided but not defined: -nosuch",
	} {
		_, err := Parse(strings.Fields(args))
		require.EqualError(t, err, want)
	}
}

// The verdicts of go test decide, but a wrong verdict anywhere always counts.
func TestJudge(t *testing.T) {
	for states, want := range map[string]int{
		"right right right":     cli.Pass,
		"right unknown right":   cli.Pass,
		"right right failed":    cli.Pass,
		"unknown right right":   cli.Unknown,
		"failed right right":    cli.Unknown,
		"unknown right wrong":   cli.Findings,
		"right wrong right":     cli.Findings,
		"wrong unknown unknown": cli.Findings,
	} {
		r := &report{}
		for i, way := range []Way{Plain, Forked, InPlace} {
			r.Trials = append(r.Trials, &Trial{Way: way, State: State(strings.Fields(states)[i])})
		}
		require.Equal(t, want, r.judge(), states)
	}
}

func TestPrint(t *testing.T) {
	var b strings.Builder
	printHeader(&b)
	printTrial(&b, &Trial{Way: Plain, State: Right, Took: 4321 * time.Millisecond, Result: &program.Result{
		Pause: 1234567, Again: 22222222, Scan: 999499999, Live: 12345, Missed: 5, Log: []string{"built a twin"}, NotForked: "it is refused",
	}})
	printTrial(&b, &Trial{Way: Forked, State: Unknown, Took: time.Second, Result: &program.Result{Unknown: []string{"cause\nremedy"}}})
	printTrial(&b, &Trial{Way: InPlace, State: Failed, Took: time.Minute, Problem: "exit status 2\npanic"})
	require.Equal(t, `
a test with known leaks  verdicts     pause  capture     scan    alive   in all
go test                  right       1.23ms   22.2ms    999ms   12,345    4.32s
    audit: the scan reached 12,340 of 12,345 objects alive, and 0 B not alive
    built a twin
    not forked: it is refused
go test -c, forked       unknown                                             1s
    cause
    remedy
go test -c, in place     failed                                            1m0s
    exit status 2
    panic
`, b.String())
}

func TestNoGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr strings.Builder
	require.Equal(t, cli.Usage, Run(&cli.Context{Stdout: &stdout, Stderr: &stderr}, nil))
	require.Empty(t, stdout.String())
	require.Equal(t, "leakgate: no go command in PATH: leakgate needs the Go toolchain\n", stderr.String())
}
