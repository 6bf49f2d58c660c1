package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	slow "github.com/leakgate/leakgate/internal/testkit/require"
)

// TestAutoCorpus runs leakgate run -auto on the modules in testdata/auto, two at a time. README.md
// there says what an archive holds.
//
//	LEAKGATE_SLOW=1 go test -run TestAutoCorpus/leaks .       one kind
//	LEAKGATE_SLOW=1 go test -run TestAutoCorpus/leaks/pipe .  those with "pipe" in their name
func TestAutoCorpus(t *testing.T) {
	slow.Slow(t)
	leakgate, err := exec.LookPath("leakgate") // TestMain puts it there
	require.NoError(t, err)
	two := make(chan struct{}, 2)
	for code, kind := range []string{"healthy", "leaks"} {
		t.Run(kind, func(t *testing.T) {
			files, err := filepath.Glob("testdata/auto/" + kind + "/*.txtar")
			require.NoError(t, err)
			require.NotEmpty(t, files)
			for _, file := range files {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
					t.Parallel()
					m := readAutoModule(t, file)
					two <- struct{}{}
					defer func() { <-two }()
					m.judge(t, leakgate, code)
				})
			}
		})
	}
}

// An autoModule is a module of the corpus.
type autoModule struct {
	args  []string         // further arguments of leakgate run -auto
	note  bool             // something grows, which a note has to tell
	says  []*regexp.Regexp // of the whole output
	leaks [][]string       // of each leak: "file.go:line" of the lines of which a finding names one
	base  []txtar.File     // the revision before, if it has one
	files []txtar.File
}

// readAutoModule reads an archive. Its comment has a line "why: ..." and may have lines
// "args: ...", "want: note" and "want: says REGEXP".
func readAutoModule(t *testing.T, name string) *autoModule {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	require.NoError(t, err)
	m, why := new(autoModule), false
	labels := make(map[string]int)
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		pattern, says := strings.CutPrefix(value, "says ")
		switch {
		case key == "why" && value != "":
			why = true
		case key == "args":
			m.args = strings.Fields(value)
		case key == "want" && value == "note":
			m.note = true
		case key == "want" && says:
			m.says = append(m.says, regexp.MustCompile("(?m)"+pattern))
		default:
			t.Fatalf("%s: what does %q mean?", name, line)
		}
	}
	require.True(t, why, "%s does not say why", name)
	for _, f := range archive.Files {
		if before, ok := strings.CutPrefix(f.Name, "base/"); ok {
			m.base = append(m.base, txtar.File{Name: before, Data: f.Data})
			continue
		}
		m.files = append(m.files, f)
		for i, line := range bytes.Split(f.Data, []byte("\n")) {
			mark := autoMark.FindSubmatch(line)
			if mark == nil {
				continue
			}
			label := string(mark[1])
			n, ok := labels[label]
			if !ok || label == "" {
				n = len(m.leaks)
				m.leaks = append(m.leaks, nil)
				labels[label] = n
			}
			m.leaks[n] = append(m.leaks[n], regexp.QuoteMeta(filepath.Base(f.Name)+":"+strconv.Itoa(i+1)))
		}
	}
	return m
}

// autoMark is at the end of a line that makes what leaks. Lines with the same label are about one
// leak.
var autoMark = regexp.MustCompile(` // leak(?:: (\w+))?$`)

// Parts of the output: what it says of a package with findings, and the line of each.
var (
	autoFindings = regexp.MustCompile(`(?ms)^--- FAIL: .*?^(?:FAIL|ok|\?)\s`)
	autoFinding  = regexp.MustCompile(`(?m)^leak [0-9a-f]+: .*`)
	autoSummary  = regexp.MustCompile(`(?m)^repeated .*`)
	autoNote     = regexp.MustCompile(`(?m)^note: .*`)
)

// judge runs the command in a copy of the module, and compares what it says with what is right.
func (m *autoModule) judge(t *testing.T, leakgate string, code int) {
	t.Helper()
	start := time.Now()
	got, out := m.run(t, leakgate)
	t.Logf("%s: exit code %d, want %d, after %.1f s: %s", t.Name(), got, code, time.Since(start).Seconds(), autoSummary.FindString(out))
	findings := autoFinding.FindAllString(out, -1)
	told := strings.Join(append(autoFindings.FindAllString(out, -1), findings...), "\n")
	var wrong []string
	if got != code {
		wrong = append(wrong, "exit code "+strconv.Itoa(got)+", want "+strconv.Itoa(code))
	}
	if len(findings) < len(m.leaks) || len(findings) > 0 && code == 0 {
		wrong = append(wrong, strconv.Itoa(len(findings))+" findings, want "+strconv.Itoa(len(m.leaks)))
	}
	for _, lines := range m.leaks {
		if one := strings.Join(lines, "|"); !regexp.MustCompile(`\b(` + one + `)\b`).MatchString(told) {
			wrong = append(wrong, "no finding names "+one)
		}
	}
	if m.note && !autoNote.MatchString(out) {
		wrong = append(wrong, "no note tells what grows")
	}
	for _, says := range m.says {
		if !says.MatchString(out) {
			wrong = append(wrong, "does not say "+says.String())
		}
	}
	if len(wrong) > 0 {
		t.Errorf("wrong: %s\n%s", strings.Join(wrong, "; "), out)
	}
}

// run returns the exit code and the output.
func (m *autoModule) run(t *testing.T, leakgate string) (int, string) {
	t.Helper()
	dir, tmp := t.TempDir(), t.TempDir()
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PWD="+dir, "TMPDIR="+tmp, "GOWORK=off", "GOFLAGS=", "GOPROXY=off", "CI=", "GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY=", "TEST_UNDECLARED_OUTPUTS_DIR=")
		return cmd
	}
	if len(m.base) > 0 {
		writeFiles(t, dir, m.base)
		for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=me", "-c", "user.email=me@example.com", "commit", "-qm", "base"}} {
			out, err := command("git", args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	writeFiles(t, dir, m.files)
	// How much is seen in a minute is no matter of the corpus, and a busy machine sees less.
	args := append([]string{"run", "-auto", "-auto-time=4m"}, m.args...)
	if i := slices.Index(args, "--"); i >= 0 {
		args = slices.Insert(args, i, "./...")
	} else {
		args = append(args, "./...")
	}
	cmd := command(leakgate, args...)
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func writeFiles(t *testing.T, dir string, files []txtar.File) {
	t.Helper()
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, f.Data, 0o666))
	}
}
