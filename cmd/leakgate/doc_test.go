package main

import (
	"bytes"
	"flag"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/alloc"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/doctor"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/goldenfile"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/process"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/repeat"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/results"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/runtests"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/symbolize"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/vet"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
)

func parseManual(t *testing.T) *manual {
	t.Helper()
	m, err := readManual(manualSource)
	require.NoError(t, err)
	return m
}

// The manual lists exactly the flags of the commands, with the right defaults.
func TestManualListsTheFlags(t *testing.T) {
	for topic, flags := range map[string]*flag.FlagSet{
		"run":       new(runtests.Options).FlagSet(),
		"alloc":     new(alloc.Options).FlagSet(),
		"view":      new(results.ViewOptions).FlagSet(),
		"vet":       new(vet.Options).FlagSet(),
		"merge":     new(results.MergeOptions).FlagSet(),
		"diff":      new(results.DiffOptions).FlagSet(),
		"symbolize": new(symbolize.Options).FlagSet(),
		"repeat":    new(repeat.Options).FlagSet(),
		"scan":      new(process.ScanOptions).FlagSet(),
		"golden":    (&goldenfile.Options{Verb: "prune"}).FlagSet(),
	} {
		requireFlags(t, topic, flags)
	}
}

func requireFlags(t *testing.T, topic string, flags *flag.FlagSet) {
	t.Helper()
	text, ok := parseManual(t).Topic(topic)
	require.True(t, ok)
	var documented []string
	for _, m := range regexp.MustCompile(`(?m)^\t-([\w-]+)(?: [\w/]+)?$`).FindAllStringSubmatch(text, -1) {
		documented = append(documented, m[1])
	}
	var defined []string
	unwrapped := strings.Join(strings.Fields(text), " ")
	flags.VisitAll(func(f *flag.Flag) {
		defined = append(defined, f.Name)
		if f.DefValue != "" && f.DefValue != "false" {
			require.Contains(t, unwrapped, "(default "+f.DefValue+")", "-%s", f.Name)
		}
	})
	require.Equal(t, defined, documented, "%s: both sorted", topic)
}

// shellWords splits a command line as a shell does, as far as the manual has it: at spaces outside
// of single quotes.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// leakgate accepts every command line in the manual.
func TestManualExamplesParse(t *testing.T) {
	ran := 0
	for _, line := range parseManual(t).Code() {
		args, ok := strings.CutPrefix(line, "leakgate ")
		if !ok || strings.Contains(line, "[") { // a synopsis
			continue
		}
		ran++
		words := shellWords(args)
		switch words[0] {
		case "run":
			_, err := runtests.Parse(words[1:])
			require.NoError(t, err, line)
		case "vet":
			_, err := vet.Parse(words[1:])
			require.NoError(t, err, line)
		case "view":
			_, err := results.ParseView(words[1:])
			require.NoError(t, err, line)
		case "alloc":
			_, err := alloc.Parse(words[1:])
			require.NoError(t, err, line)
		case "merge":
			_, err := results.ParseMerge(words[1:])
			require.NoError(t, err, line)
		case "repeat":
			_, err := repeat.Parse(words[1:])
			require.NoError(t, err, line)
		case "scan":
			_, err := process.ParseScan(words[1:])
			require.NoError(t, err, line)
		case "doctor":
			_, err := doctor.Parse(words[1:])
			require.NoError(t, err, line)
		case "diff":
			_, err := results.ParseDiff(words[1:])
			require.NoError(t, err, line)
		case "golden":
			var err error
			if words[1] == "tighten" {
				_, err = goldenfile.ParseTighten(words[2:])
			} else {
				_, err = goldenfile.Parse(words[1:])
			}
			require.NoError(t, err, line)
		case "symbolize":
			_, err := symbolize.Parse(words[1:])
			require.NoError(t, err, line)
		case "completion":
			if words[1] == "shell" {
				continue // a synopsis
			}
			fallthrough
		case "version", "help":
			var stdout, stderr bytes.Buffer
			require.Zero(t, run(words, &stdout, &stderr, nil), line)
			require.NotEmpty(t, stdout.String(), line)
			require.Empty(t, stderr.String(), line)
		default:
			t.Errorf("the manual names a command that is not there: %s", line)
		}
	}
	require.GreaterOrEqual(t, ran, 5)
}

// The overview names each command and each topic.
func TestManualOverviewIsWhole(t *testing.T) {
	m := parseManual(t)
	for _, c := range commands() {
		require.Contains(t, m.Overview(), "\tleakgate "+c.name, "the synopsis")
		require.Contains(t, m.Topics(), c.name, "a command has a topic")
	}
	require.Contains(t, m.Overview(), commandList())
	unwrapped := strings.Join(strings.Fields(m.Overview()), " ")
	require.Contains(t, unwrapped, "Topics of help: "+strings.Join(m.Topics(), ", ")+".")
}

// The manual lists exactly these exit codes, and its order of precedence has all of them.
func TestManualExitCodes(t *testing.T) {
	text, ok := parseManual(t).Topic("exit-codes")
	require.True(t, ok)
	var codes []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\d)  `).FindAllStringSubmatch(text, -1) {
		codes = append(codes, m[1])
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, codes)
	var want []string
	for _, o := range []outcome.Outcome{outcome.BuildError, outcome.TestFailure, outcome.Regression, outcome.Unknown} {
		want = append(want, string(rune('0'+outcome.ExitCode(o))))
	}
	require.Contains(t, text, strings.Join(want, ", ")+" is the exit code")
}
